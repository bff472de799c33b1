"""Executors: a plan goes in, checked events come out."""
