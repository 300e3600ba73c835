"""Consistency of ratings: Cronbach's alpha and intraclass correlation."""
