"""Three rows that the tests of batches share."""

import numpy as np

X = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0], [4.0, 5.0, 0.0]])
Y = np.array([0, 1, 1])
