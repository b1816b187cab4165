"""What do all layers make of a span of words, or of two?"""
