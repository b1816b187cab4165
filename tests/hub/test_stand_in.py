"""The stand-in speaks as the installed ``huggingface_hub`` expects: what the library does with it has the right outcome."""

import hashlib
from pathlib import Path

import pytest
from huggingface_hub import HfApi, hf_hub_download, snapshot_download
from huggingface_hub.errors import GatedRepoError, RemoteEntryNotFoundError, RepositoryNotFoundError, RevisionNotFoundError


def test_a_file_is_downloaded_at_a_branch_a_tag_and_a_commit(online):
    made = online.hub.repositories.add("org/one", {"config.json": b"{}", "a.safetensors": b"first" * 9})
    old = made.refs["main"]
    new = made.commit({"a.safetensors": b"second" * 9})
    made.refs["v1"] = old
    api = HfApi()
    for revision, commit, content in ((None, new, b"second"), ("v1", old, b"first"), (old[:12], old, b"first"), (old, old, b"first")):
        assert api.model_info("org/one", revision=revision).sha == commit
        path = Path(hf_hub_download("org/one", "a.safetensors", revision=revision))
        assert path.read_bytes() == content * 9 and path.parent.name == commit
        # A large file comes from the other host; the cache calls it by its sha256.
        assert path.resolve().name == hashlib.sha256(content * 9).hexdigest()
    assert len(online.hub.asked(r"^GET /large/")) == 2
    assert {path.name for path in Path(snapshot_download("org/one", revision="v1")).iterdir()} == {"config.json", "a.safetensors"}


def test_missing_private_and_gated_repositories_revisions_and_files_are_the_librarys_errors(online):
    hub = online.hub
    hub.repositories.add("org/one", {"config.json": b"{}"})
    hub.repositories.add("org/hidden", {"config.json": b"{}"}, private=True)
    gated = hub.repositories.add("org/gated", {"config.json": b"{}"}, gated=True)
    api = HfApi()
    for name, error in (("org/none", RepositoryNotFoundError), ("org/hidden", RepositoryNotFoundError), ("org/gated", GatedRepoError)):
        with pytest.raises(error):
            hf_hub_download(name, "config.json")
    with pytest.raises(RevisionNotFoundError):
        api.model_info("org/one", revision="v9")
    with pytest.raises(RemoteEntryNotFoundError):
        hf_hub_download("org/one", "model.safetensors")
    online.login("org")
    assert Path(hf_hub_download("org/hidden", "config.json")).read_bytes() == b"{}"
    online.login("reader")
    with pytest.raises(GatedRepoError):
        hf_hub_download("org/gated", "config.json")
    gated.admitted.add("reader")
    assert Path(hf_hub_download("org/gated", "config.json")).read_bytes() == b"{}"


def test_a_renamed_repository_is_found_under_its_old_name(online):
    online.hub.repositories.add("org/new", {"config.json": b"{}"})
    online.hub.repositories.renamed["org/old"] = "org/new"
    assert Path(hf_hub_download("org/old", "config.json")).read_bytes() == b"{}"
    assert HfApi().model_info("org/old").id == "org/new"


def test_a_broken_download_is_resumed_with_a_range(online):
    content = bytes(range(256)) * 40
    online.hub.repositories.add("org/one", {"a.bin": content})
    online.hub.faults.add("GET /large/", broken_after=1000, times=1)
    assert Path(hf_hub_download("org/one", "a.bin")).read_bytes() == content
    assert len(online.hub.asked("GET /large/")) == 2 and len(online.waits) == 1


@pytest.mark.parametrize("kind", ["model", "dataset"])
def test_a_folder_is_uploaded_replaced_and_unchanged(online, tmp_path, kind):
    online.login("me")
    api, folder = HfApi(), tmp_path / "out"
    (folder / "data").mkdir(parents=True)
    for name in ("README.md", "data/a.parquet", "data/b.parquet"):
        (folder / name).write_bytes(name.encode() * 3)
    api.create_repo("me/one", repo_type=kind, exist_ok=True)
    done = api.upload_folder(repo_id="me/one", repo_type=kind, folder_path=folder, delete_patterns=["data/*"])
    made = online.hub.repositories.kept[kind, "me/one"]
    assert made.refs["main"] == done.oid
    assert {name: made.files[name] for name in ("README.md", "data/a.parquet")} == {
        "README.md": b"README.md" * 3,
        "data/a.parquet": b"data/a.parquet" * 3,
    }
    api.create_repo("me/one", repo_type=kind, exist_ok=True)
    assert api.upload_folder(repo_id="me/one", repo_type=kind, folder_path=folder, delete_patterns=["data/*"]).oid == done.oid
    (folder / "data" / "b.parquet").unlink()
    assert api.upload_folder(repo_id="me/one", repo_type=kind, folder_path=folder, delete_patterns=["data/*"]).oid != done.oid
    assert set(made.files) == {".gitattributes", "README.md", "data/a.parquet"}
