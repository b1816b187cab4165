# The app on the shipped results, for others: docs/server.md. A Space of the Hugging Face Hub expects port 7860.
FROM python:3.11-slim
RUN useradd --create-home --uid 1000 user
WORKDIR /home/user/app
COPY requirements.txt ./
# The build of PyTorch for CPUs first: that with CUDA has several gigabytes.
RUN pip install --no-cache-dir "$(grep ^torch== requirements.txt)" --index-url https://download.pytorch.org/whl/cpu \
    && pip install --no-cache-dir -r requirements.txt
COPY .streamlit .streamlit
COPY app.py pyproject.toml ./
COPY data data
COPY pages pages
COPY probing probing
USER user
ENV PROBING_PUBLIC=1 PROBING_CACHE=/home/user/cache HF_HUB_OFFLINE=1
EXPOSE 7860
HEALTHCHECK --start-period=60s CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://localhost:7860/_stcore/health')"]
# SPACE_HOST is the name under which the app is reached; a Space sets it.
CMD exec python -m probing.ui --server.address 0.0.0.0 --server.port 7860 \
    --server.allowedHosts localhost --server.allowedHosts "${SPACE_HOST:-127.0.0.1}"
