"""The tables and figures of the paper: `driftsieve reproduce NAME`.

M. Wang and A. Barbu, "Online Feature Screening for Data Streams with Concept Drift".
"""
