"""Counts that coefficients are computed from; they add over parts."""
