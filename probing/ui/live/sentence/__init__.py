"""What does every layer make of a whole sentence, and of minimal pairs?"""
