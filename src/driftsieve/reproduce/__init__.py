"""The paper's tables and figures, made anew: `driftsieve reproduce NAME`.

M. Wang and A. Barbu, "Online Feature Screening for Data Streams with Concept Drift".
"""
