"""Which model it is: weights, configuration and name decide, and heads and runs are tied to them."""

import json
import shutil

import pytest
import torch
import transformers
from transformers import AutoConfig

from probing.heads.files import HeadIdentity, heads_folder, load_heads, save_head, trained_heads_folder
from probing.kernel.errors import HeadError, ModelError
from probing.kernel.models.catalogue import open_encoder
from probing.kernel.models.check import configuration_digest
from probing.kernel.models.head import fresh_copy
from probing.kernel.models.load import BaseSource, load_encoder
from probing.kernel.models.names import find_entry
from probing.kernel.registry import name_in_files, name_of_model
from probing.live.ask import load_live
from tests import tiny_models


def set_config(folder, **changes):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    return folder


def digest(folder) -> str:
    return configuration_digest(AutoConfig.from_pretrained(folder))


def save_heads(encoder, folder, configuration):
    """A tied head of every layer, as ``train-heads`` writes them."""
    for layer in range(encoder.layers):
        identity = HeadIdentity(
            encoder.name, encoder.weights_id, layer, "tied", "{}", "[[0, 2.5]]", configuration=configuration
        )
        save_head(fresh_copy(encoder.head, "tied"), identity, folder)


@pytest.mark.parametrize(
    "change",
    [
        {"hidden_act": "relu"},
        {"num_attention_heads": 4},
        {"is_decoder": True},
        {"layer_norm_eps": 1e-3},
        {"max_position_embeddings": 40},
        {"a_setting_of_tomorrow": 1},
    ],
)
def test_a_setting_that_changes_the_computation_changes_the_digest(change, bert_copy, folder_of):
    assert digest(set_config(bert_copy, **change)) != digest(folder_of("bert"))


def test_another_activation_with_the_same_weights_is_another_configuration_of_the_same_identity(bert_copy, folder_of):
    own, other = (
        load_encoder(folder_of("bert"), device="cpu"),
        load_encoder(set_config(bert_copy, hidden_act="relu"), device="cpu"),
    )
    assert own.weights_id == other.weights_id and own.configuration != other.configuration


@pytest.mark.parametrize("changed", ["tokens", "the end of a text"])
def test_another_tokenizer_with_the_same_weights_is_another_configuration_even_where_no_answer_is_another_token(
    changed, bert_copy, folder_of
):
    path = bert_copy / "tokenizer.json"
    said = json.loads(path.read_text())
    tokens = said["model"]["vocab"]
    first, second = list(tokens)[-2:]
    if changed == "tokens":
        tokens[first], tokens[second] = tokens[second], tokens[first]
    else:
        said["post_processor"]["single"].pop()
        config = bert_copy / "tokenizer_config.json"
        config.write_text(config.read_text().replace("BertTokenizer", "PreTrainedTokenizerFast"))
    path.write_text(json.dumps(said))
    assert (
        load_encoder(bert_copy, device="cpu").configuration
        != load_encoder(folder_of("bert"), device="cpu").configuration
    )


def test_names_labels_dropout_and_defaults_written_out_change_no_digest(architecture, folder_of, tmp_path):
    copy = shutil.copytree(folder_of(architecture), tmp_path / "copy")
    labels = {"id2label": {"0": "O", "1": "X", "2": "Y"}, "label2id": {"O": 0, "X": 1, "Y": 2}}
    set_config(
        copy,
        _name_or_path="elsewhere",
        architectures=["Other"],
        transformers_version="4.0",
        dtype="float16",
        use_cache=False,
        **labels,
        attention_probs_dropout_prob=0.3,
        hidden_dropout_prob=0.3,
        classifier_dropout=0.3,
        initializer_range=0.5,
    )
    assert digest(copy) == digest(folder_of(architecture))
    config = AutoConfig.from_pretrained(folder_of(architecture))
    short = config.to_diff_dict() | {"model_type": config.model_type}
    (copy / "config.json").write_text(json.dumps(short))
    assert digest(copy) == digest(folder_of(architecture))


def test_the_configuration_of_a_borrowed_head_counts(bert_copy, folder_of, tmp_path):
    from tests.kernel.test_encoders import keep_weights

    other = set_config(shutil.copytree(bert_copy, tmp_path / "other"), hidden_act="relu")
    keep_weights(bert_copy, lambda name: name.startswith("bert."))
    found = {
        load_encoder(bert_copy, base=BaseSource(base), device="cpu").configuration
        for base in (folder_of("bert"), other)
    }
    assert len(found) == 2


@pytest.mark.parametrize("architecture", ["bert", "roberta", "distilbert", "electra", "modernbert"])
def test_a_configuration_with_fewer_layers_than_the_weights_is_refused_by_name(architecture, folder_of, tmp_path):
    folder = shutil.copytree(folder_of(architecture), tmp_path / "copy")
    config = json.loads((folder / "config.json").read_text())
    layers = "n_layers" if "n_layers" in config else "num_hidden_layers"
    kinds = {"layer_types": config["layer_types"][:2]} if "layer_types" in config else {}
    set_config(folder, **{layers: 2}, **kinds)
    with pytest.raises(
        ModelError, match=r"has \d+ weights of its body that its config.json does not define, such as .*layers?\.2\."
    ):
        load_encoder(folder, device="cpu")


def test_weights_of_poolers_and_other_heads_are_no_part_of_the_body(bert_copy):
    from safetensors.torch import load_file, save_file

    more = {"bert.pooler.dense.weight": torch.zeros(16, 16), "qa_outputs.weight": torch.zeros(2, 16)}
    more |= {"cls.seq_relationship.weight": torch.zeros(2, 16), "bert.embeddings.position_ids": torch.arange(48)[None]}
    save_file(
        load_file(bert_copy / "model.safetensors") | more, bert_copy / "model.safetensors", metadata={"format": "pt"}
    )
    assert load_encoder(bert_copy, device="cpu").depth == 3


def test_heads_say_their_configuration_and_are_refused_for_another(bert_copy, bert, tmp_path):
    cache = tmp_path / "cache"
    folder = trained_heads_folder(bert, "tied", 0, cache)
    save_heads(bert, folder, bert.configuration)
    assert (
        heads_folder(bert.name, bert, "tied", cache) == folder and len(load_heads(folder, bert, "tied")) == bert.layers
    )
    other = load_encoder(set_config(bert_copy, hidden_act="relu"), device="cpu")
    found = heads_folder(str(bert_copy), other, "tied", cache)
    with pytest.raises(
        HeadError,
        match=rf"belongs to configuration {bert.configuration[:12]}.*expected {other.configuration[:12]}.*train-heads",
    ):
        load_heads(found, other, "tied")
    # Those of the other configuration lie apart, and both are found from then on.
    apart = trained_heads_folder(other, "tied", 0, cache)
    assert apart != folder
    save_heads(other, apart, other.configuration)
    assert (
        heads_folder(str(bert_copy), other, "tied", cache) == apart
        and len(load_heads(apart, other, "tied")) == other.layers
    )
    assert heads_folder(bert.name, bert, "tied", cache) == folder == trained_heads_folder(bert, "tied", 0, cache)


def test_loading_leaves_transformers_verbosity_and_progress_bars_as_they_were(folder_of):
    transformers.logging.enable_progress_bar()
    before = transformers.logging.get_verbosity()
    load_encoder(folder_of("bert"), device="cpu")
    assert transformers.logging.is_progress_bar_enabled() and transformers.logging.get_verbosity() == before
    transformers.logging.disable_progress_bar()
    try:
        load_encoder(folder_of("bert"), device="cpu")
        assert not transformers.logging.is_progress_bar_enabled()
    finally:
        transformers.logging.enable_progress_bar()


def test_casing_is_what_the_tokenizer_does(encoder_of):
    found = {name: encoder_of(name).casing for name in ("bert", "roberta", "modernbert")}
    assert found == {"bert": "uncased", "roberta": "cased", "modernbert": "cased"}


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("/x/sst2-run/checkpoint-50", "sst2-run/checkpoint-50"),
        ("/x/sst2-run/checkpoint-50/", "sst2-run/checkpoint-50"),
        ("/x/sst2-run/../other-run/checkpoint-50", "other-run/checkpoint-50"),
        ("/x/checkpoint-best", "checkpoint-best"),
        ("org/model", "model"),
        ("/checkpoint-7", "checkpoint-7"),
    ],
)
def test_a_trainers_checkpoint_has_the_name_of_its_training(source, name):
    assert name_of_model(source) == name


def test_a_name_goes_into_file_names_without_folders():
    assert name_in_files("sst2-run/checkpoint-50") == "sst2-run--checkpoint-50"


def test_a_named_model_is_opened_under_its_name_and_says_how(folder_of):
    encoder = open_encoder(str(folder_of("bert")), name="my run/step 5")
    assert encoder.name == "my run/step 5"
    assert encoder.options == f"--model {folder_of('bert')} --name 'my run/step 5'"


def test_heads_that_answer_with_no_numbers_are_an_error_of_the_live_model(bert):
    live = load_live(bert, "logit_lens", None)
    broken = fresh_copy(bert.head, "tied")
    with torch.no_grad():
        broken.dense.bias.fill_(torch.nan)
    live.heads[1] = broken
    with pytest.raises(ModelError, match="not finite"):
        live.ask("Paris is the capital of [MASK].")


def test_every_architecture_has_a_digest_of_its_own(folder_of):
    assert (
        len({digest(folder_of(name)) for name in ("bert", "roberta", "albert", "distilbert", "electra", "modernbert")})
        == 6
    )


def test_the_folder_of_a_model_is_not_replaced_by_a_cached_model_of_the_same_name(folder_of, tmp_path, monkeypatch):
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "cache"))
    shutil.copytree(folder_of("roberta"), tmp_path / "cache" / "models" / "mine")
    mine = shutil.copytree(folder_of("bert"), tmp_path / "mine")
    assert find_entry(str(mine)).source == str(mine)
    assert open_encoder(str(mine)).body.config.model_type == "bert"
    assert open_encoder("mine").depth == tiny_models.LAYERS and open_encoder("mine").body.config.model_type == "roberta"
