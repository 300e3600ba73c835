"""Intervals, standard errors and sample sizes, by resampling clusters [1]_ and by linearisation.

References
----------
.. [1] B. Efron and R. J. Tibshirani (1993), An introduction to the bootstrap, Chapman and Hall,
       doi:10.1201/9780429246593.
"""
