"""Turn rows and answers into what a page shows: words, states, numbers. No writes."""
