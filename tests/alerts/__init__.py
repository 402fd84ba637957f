"""Findings are reported: what is found, who hears of it, how it is signed and sent again, and who may say so."""
