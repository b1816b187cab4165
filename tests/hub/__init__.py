"""A stand-in of the Hugging Face Hub on the loopback (``server``), files of tiny models as their owners would put them
there (``contents``), and the tests that use them. No test reaches another machine.
"""
