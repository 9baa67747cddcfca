"""FIRES: online feature selection by the uncertainty of the weights of a linear model.

Written from the formulas of Haug, Pawelczyk, Broelemann and Kasneci, Leveraging Model Inherent
Variable Importance for Stable Online Feature Selection, KDD 2020, for comparison only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

RATE = 0.01  # of the gradient steps, for means and deviations
PENALTY = 0.01  # of the deviations; that of the size of the importances changes no rank


class Fires:
    """The probit model: weight j of the linear model is normal with mean mu_j, deviation sigma_j.

    With y in {-1, 1} and s = x @ mu, P(y | x) = Phi(y s / rho), rho² = 1 + sum (sigma_j x_j)².
    A batch is one step of gradient ascent on the mean of log P. The importance that trades
    mu_j² against sigma_j² is, up to a factor, mu_j² - penalty * sigma_j².
    """

    def __init__(self, n_features: int, k: int) -> None:
        self.k = k
        self.mu, self.sigma = np.zeros(n_features), np.ones(n_features)

    def learn(self, X: Any, y: NDArray[np.int64]) -> None:
        """Learn a batch of comparable features, dense or CSR, with labels 0 and 1."""
        sign, squared = 2.0 * y - 1.0, X * X if isinstance(X, np.ndarray) else X.power(2)
        s, rho = X @ self.mu, np.sqrt(1.0 + squared @ self.sigma**2)
        z = sign * s / rho
        slope = sign * np.exp(norm.logpdf(z) - norm.logcdf(z))  # of log P by s / rho
        step = RATE / len(y)
        self.mu += step * (X.T @ (slope / rho))
        self.sigma -= step * self.sigma * (squared.T @ (slope * s / rho**3))

    def chosen(self) -> NDArray[np.intp]:
        importance = self.mu**2 - PENALTY * self.sigma**2
        return np.argsort(-importance, kind="stable")[: self.k]
