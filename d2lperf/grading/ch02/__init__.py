"""Chapter 2, asynchronous computation: six exercises."""
