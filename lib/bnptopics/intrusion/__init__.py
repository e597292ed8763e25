"""Word and topic intrusion: can people tell what does not belong?"""
