# What a disk helper needs, where a container registry has a Debian to start from.
ARG base
FROM ${base}
ARG packages
RUN apt-get update -q && apt-get install -q -y --no-install-recommends ${packages} && rm -rf /var/lib/apt/lists/*
