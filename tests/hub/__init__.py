"""A stand-in of the Hugging Face Hub on the loopback, and the tests that use it.

``repositories`` holds models and data sets with their commits, ``faults`` what goes wrong, ``server`` speaks HTTP as
the installed ``huggingface_hub`` expects it, and ``contents`` makes the files of tiny models. No test reaches another
machine.
"""
