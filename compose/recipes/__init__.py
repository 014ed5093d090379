"""What images are made of, as files: they are data, and their content is part of each image's name."""
