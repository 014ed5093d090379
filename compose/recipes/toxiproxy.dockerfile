# One static binary, laid out like the published image.
FROM scratch
COPY toxiproxy /toxiproxy
EXPOSE 8474
ENTRYPOINT ["/toxiproxy"]
CMD ["-host=0.0.0.0"]
