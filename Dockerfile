# unmask in a container, for the CPU: `docker build -t unmask .`, then `docker run --rm unmask`.
# It needs no network once it is built. Results: -v "$PWD/results:/work/unmask-results".
FROM python:3.11-slim AS built
COPY . /source
# The CPU's torch: the usual one brings gigabytes of CUDA with it.
RUN python -m venv /opt/unmask \
 && /opt/unmask/bin/pip install --no-cache-dir torch --index-url https://download.pytorch.org/whl/cpu \
 && /opt/unmask/bin/pip install --no-cache-dir /source \
 && /opt/unmask/bin/pip uninstall --yes pip setuptools \
 && find /opt/unmask -name tests -path '*site-packages*' -prune -exec rm -rf {} + \
 && find /opt/unmask -name '__pycache__' -prune -exec rm -rf {} +

FROM python:3.11-slim
COPY --from=built /opt/unmask /opt/unmask
ENV PATH=/opt/unmask/bin:$PATH HF_HUB_OFFLINE=1 PYTHONDONTWRITEBYTECODE=1
RUN useradd --create-home unmask && mkdir -p /work && chown unmask /work
USER unmask
WORKDIR /work
ENTRYPOINT ["unmask"]
CMD ["run"]
