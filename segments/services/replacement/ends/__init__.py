"""Ends that wait for replicas, in the foreground or in the background: whoever carries one on decides it again."""
