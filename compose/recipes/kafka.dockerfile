# Kafka as every node runs it. `base` is our own Debian with a JRE, and libs/ holds Kafka's jars;
# or `base` is the published image of the release, which has both, and libs/ is empty.
ARG base
FROM ${base}
USER root
WORKDIR /
COPY libs/ /opt/kafka/libs/
COPY archive.sh archive.properties log4j.properties log4j2.properties /opt/highwater/
ARG archive
ARG flags
RUN sh /opt/highwater/archive.sh ${archive} ${flags}
ENTRYPOINT []
CMD []
