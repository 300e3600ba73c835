"""Diagnosis: matched units, tables, sentences, warnings and the worst images."""
