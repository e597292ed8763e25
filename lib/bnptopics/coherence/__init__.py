"""Coherence of topics: do their words meet in documents? And diversity: are they different topics?"""
