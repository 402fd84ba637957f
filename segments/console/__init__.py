"""The operator's console: pages rendered on the server; every action calls one service."""
