"""The only Numba in the house: few kernels, each with a slow twin in the tests."""
