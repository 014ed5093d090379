"""All that is asked of the Docker SDK and of Testcontainers."""
