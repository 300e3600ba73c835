# docker build -t bboxqa . && docker run --rm -u "$(id -u)" -v "$PWD:/data" bboxqa validate export.json
FROM python:3.12-slim
RUN --mount=type=bind,target=/src pip install --no-cache-dir /src
ENV MPLCONFIGDIR=/tmp
WORKDIR /data
ENTRYPOINT ["bboxqa"]
