"""signs: yes-or-no facts that are not wrong in themselves, but separate causes that the same findings leave open.

sign.py declares them; the other files hold them, one subject each. A sign that the log cannot answer is unknown.
"""
