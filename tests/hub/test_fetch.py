"""What is downloaded of a model: its weights in any layout, whole and undamaged, after its configuration was found
usable.
"""

import hashlib
import json
from pathlib import Path

import pytest

from probing.kernel.errors import ModelError, RegistryError
from probing.kernel.models.load import load_encoder
from probing.kernel.models.names import find_entry
from tests.hub import contents

LAYOUTS = {"one safetensors": lambda files: files, "one bin": contents.as_bin, "bin in shards": contents.as_sharded_bin}


def weights_asked(hub) -> list[str]:
    """The downloads of large files, and the questions about them."""
    return hub.asked(r"^GET /large/") + hub.asked(r"/resolve/.*\.(safetensors|bin)$")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_weights_in_any_layout_are_fetched_and_loaded_offline(online, run, bert, tmp_path, layout):
    files = LAYOUTS[layout](bert)
    commit = online.hub.add("org/tiny-bert", {**files, "tf_model.h5": b"other", "onnx/config.json": b"{}"}).refs["main"]
    folder = Path(run("fetch", "org/tiny-bert").stdout.split(": ", 1)[1].strip())
    assert folder.name == commit
    got = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    read = {name: content for name, content in files.items() if name != "generation_config.json"}
    assert got == read, "neither other software's files nor those in subfolders"
    online.offline()
    opened = load_encoder("org/tiny-bert", device="cpu")
    again = load_encoder(contents.as_folder(bert, tmp_path / "plain"), device="cpu")
    assert all((a == b).all() for a, b in zip(opened.body.parameters(), again.body.parameters(), strict=True))


def test_the_weights_of_shards_are_identified_by_their_shards_in_order(online, bert):
    files = contents.as_sharded_bin(bert, shards=3)
    online.hub.add("org/tiny-bert", files)
    shards = sorted(name for name in files if name.endswith(".bin"))
    expected = hashlib.sha256(b"".join(name.encode() + files[name] for name in shards)).hexdigest()
    assert len(shards) == 3 and load_encoder("org/tiny-bert", device="cpu").weights_id == expected


def test_a_model_of_the_registry_is_fetched_at_its_pinned_commit(online, run, bert, tmp_path, monkeypatch):
    made = online.hub.add("org/tiny-bert", contents.as_bin(bert))
    pinned = made.refs["main"]
    made.commit({contents.SAFE: contents.as_other_weights(bert)[contents.SAFE]})
    registry = tmp_path / "registry.toml"
    registry.write_text(
        f'data = []\n[[models]]\nname = "small"\nsource = "org/tiny-bert"\nlicence = "MIT"\nrevision = "{pinned}"\n'
    )
    monkeypatch.setenv("PROBING_REGISTRY", str(registry))
    assert Path(run("fetch", "small").stdout.split(": ", 1)[1].strip()).name == pinned
    assert not online.hub.asked(r"resolve/.*safetensors") and len(online.hub.asked(r"^GET /large/")) == 1


@pytest.mark.parametrize("missing", ["weights", "shards", "tokenizer", "configuration"])
@pytest.mark.parametrize("command", ["fetch", "ask"])
def test_a_model_that_lacks_a_part_is_an_error_of_fetch_and_ask(online, run, bert, missing, command):
    files = dict(contents.as_sharded_bin(bert) if missing == "shards" else bert)
    gone = {
        "weights": [contents.SAFE],
        "shards": [name for name in files if name.startswith("pytorch_model-00002")],
        "tokenizer": [name for name in files if name.startswith(("tokenizer", "vocab", "special"))],
        "configuration": ["config.json"],
    }[missing]
    for name in gone:
        del files[name]
    online.hub.add("org/part", files | {"tf_model.h5": b"weights of other software"})
    words = ("fetch", "org/part") if command == "fetch" else ("ask", "Paris is in [MASK].", "--model", "org/part")
    with pytest.raises(ModelError, match="org/part") as found:
        run(*words)
    named = {
        "weights": "tf_model.h5",
        "shards": "pytorch_model-00002",
        "tokenizer": "tokenizer",
        "configuration": "config.json",
    }[missing]
    assert named in str(found.value)
    if missing == "configuration":
        assert weights_asked(online.hub) == []


@pytest.mark.parametrize("kind", ["gpt2", "reformer", "no-such-type"])
@pytest.mark.parametrize("command", ["ask", "probe", "fetch", "load"])
def test_an_architecture_that_cannot_be_probed_is_refused_after_its_configuration_alone(
    online, run, bert, kind, command
):
    config = json.loads(bert["config.json"]) | {
        "model_type": kind,
        "architectures": ["Model"],
        "attention_window": [2, 2, 2],
    }
    online.hub.add("org/strange", bert | {"config.json": json.dumps(config).encode()})
    words = {
        "ask": ("ask", "Paris is in [MASK].", "--model", "org/strange"),
        "probe": ("probe", "--model", "org/strange", "--facts", "questions", "--head", "logit_lens"),
        "fetch": ("fetch", "org/strange"),
    }
    with pytest.raises(ModelError, match=f"(?i){kind}"):
        run(*words[command]) if command in words else load_encoder("org/strange", device="cpu")
    assert {one.rpartition("/")[2] for one in online.hub.asked("/resolve/")} == {"config.json"}
    assert weights_asked(online.hub) == []


def test_no_public_service_is_asked_to_convert_an_owners_weights(online, bert, monkeypatch):
    monkeypatch.delenv("DISABLE_SAFETENSORS_CONVERSION", raising=False)
    online.hub.add("org/tiny-bert", contents.as_bin(bert))
    load_encoder("org/tiny-bert", device="cpu")
    known = r"^(GET|HEAD) (/api/(resolve-cache/)?models/org/tiny-bert|/org/tiny-bert/resolve|/large/\w+)(/[\w.]+)*$"
    assert online.hub.log == online.hub.asked(known)


def test_a_model_that_moved_is_fetched_by_its_old_name_and_found_offline(online, run, bert):
    commit = online.hub.add("org/tiny-bert", bert).refs["main"]
    online.hub.moved["model", "old/tiny-bert"] = "org/tiny-bert"
    assert commit in run("fetch", "old/tiny-bert").output
    online.offline()
    assert load_encoder("old/tiny-bert", device="cpu").revision == commit


def test_a_damaged_download_is_fetched_again_and_never_used(online, bert, caplog):
    online.hub.add("org/tiny-bert", bert)
    online.hub.fails("^GET /large/", corrupt=True, times=1)
    opened = load_encoder("org/tiny-bert", device="cpu")
    assert len(online.hub.asked("^GET /large/")) == 2 and "downloaded again" in caplog.text
    assert opened.weights_id == hashlib.sha256(contents.SAFE.encode() + bert[contents.SAFE]).hexdigest()


@pytest.mark.parametrize("listed", [True, False], ids=["with the hub's list", "by the name of the blob"])
def test_weights_that_are_damaged_in_the_cache_are_noticed_offline(online, bert, listed):
    online.hub.add("org/tiny-bert", bert)
    load_encoder("org/tiny-bert", device="cpu")
    (blob,) = (online.home / "hub").glob(f"models--*/blobs/{hashlib.sha256(bert[contents.SAFE]).hexdigest()}")
    blob.write_bytes(bert[contents.SAFE][:-20] + bytes(20))
    if not listed:
        from huggingface_hub import _tree_cache

        for path in (online.home / "hub").glob("models--*/trees/*"):
            path.unlink()
        _tree_cache._IN_MEMORY_TREE_CACHE.clear()
    online.offline()
    with pytest.raises(ModelError, match=r"model\.safetensors of org/tiny-bert has sha256"):
        load_encoder("org/tiny-bert", device="cpu")
    # What no download can replace now is not deleted.
    assert blob.exists()


@pytest.mark.parametrize("name", ["../../../evil.bin", "/tmp/evil.bin", "sub/evil.bin"])
def test_a_list_of_shards_that_leads_elsewhere_is_refused(online, bert, name, tmp_path):
    files = contents.as_sharded_bin(bert)
    index = json.loads(files["pytorch_model.bin.index.json"])
    index["weight_map"] |= {"cls.predictions.bias": name}
    online.hub.add("org/tiny-bert", files | {"pytorch_model.bin.index.json": json.dumps(index).encode()})
    with pytest.raises(ModelError, match="evil"):
        load_encoder("org/tiny-bert", device="cpu")
    assert not list(tmp_path.rglob("evil*")) and weights_asked(online.hub) == []


def test_a_name_that_is_neither_known_nor_an_id_of_the_hub_is_refused_without_a_request(online, run):
    with pytest.raises(RegistryError, match=r"'bert-base-uncasd'.*bert-base-uncased.*OWNER/NAME"):
        run("fetch", "bert-base-uncasd")
    assert online.hub.log == []


def test_a_local_copy_of_any_hub_model_replaces_the_hub(online, run, bert, tmp_path):
    contents.as_folder(bert, tmp_path / "stick" / "org" / "tiny-bert")
    run("fetch", "org/tiny-bert", "--from", tmp_path / "stick")
    assert load_encoder(find_entry("org/tiny-bert").location, device="cpu").revision == "local"
    assert online.hub.log == []
    with pytest.raises(ModelError, match="revision"):
        run("fetch", "org/tiny-bert", "--from", tmp_path / "stick", "--revision", "v1")
