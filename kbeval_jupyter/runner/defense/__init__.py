"""The named checks of the defense stage: what an implementation may do to look right or fast without being so."""
