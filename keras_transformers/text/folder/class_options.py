"""Conflicts of a folder's tokenizer class and options with tokenizer.json, resolved as in `transformers`."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import tokenizers
from tokenizers import models, normalizers, pre_tokenizers, processors

from keras_transformers.text.folder.class_components import AROUND, BERTS, SENTENCEPIECE, check_components
from keras_transformers.text.pipelines.components import A, B, Piece, component, make_template, parts, tokens_around
from keras_transformers.text.vocabularies.byte_pair_vocabulary import BART, END, GPT1, GPT2
from keras_transformers.text.vocabularies.wordpiece_vocabulary import template as bert_template
from keras_transformers.utils.untrusted import shown

CONFIG, CLASS = "tokenizer_config.json", "tokenizer_class"
BERT = tuple(
    f"{name}Tokenizer"
    for name in (
        "Bert", "ConvBert", "DistilBert", "DPRContextEncoder", "DPRQuestionEncoder", "DPRReader", "Electra", "LayoutLM",
        "Lxmert", "MobileBert", "RetriBert", "SqueezeBert",
    )
)  # fmt: skip
ROBERTA = (BART, "RobertaTokenizer", "LEDTokenizer", "LongformerTokenizer")
LLAMA, T5 = "LlamaTokenizer", "T5Tokenizer"
ALBERT, CAMEMBERT, DEBERTA = "AlbertTokenizer", "CamembertTokenizer", "DebertaV2Tokenizer"
MPNET, XLM_ROBERTA = "MPNetTokenizer", "XLMRobertaTokenizer"
MBART = ("MBartTokenizer", "MBart50Tokenizer")
GENERIC = ("PreTrainedTokenizer", "TokenizersBackend")  # without "Fast"
# Classes whose tokens have types, or segments, where no `model_input_names` says it; of version 5 of `transformers`.
TYPED = {*BERT, DEBERTA, "DebertaTokenizer", "FNetTokenizer"}
TYPED -= {"DistilBertTokenizer", "DPRReaderTokenizer", "RetriBertTokenizer"}  # the last is read by the generic class
# Classes with `add_bos_token` and `add_eos_token`, and the tokens that they have by default.
BEGINNING = {GPT2: (END, END), GPT1: (None, None), LLAMA: ("<s>", "</s>"), **dict.fromkeys(GENERIC, (None, None))}
# Classes that split texts with their own code, which no tokenizer.json describes.
OF_CODE = tuple(
    f"{name}Tokenizer"
    for name in (
        "Bartpho", "BertGeneration", "BertJapanese", "Bertweet", "BioGpt", "BlenderbotSmall", "ByT5", "Canine", "Cpm",
        "CpmAnt", "CTRL", "Esm", "Flaubert", "FSMT", "GPTNeoXJapanese", "GPTSw3", "M2M100", "MyT5", "Perceiver",
        "Phobert", "PLBart", "ProphetNet", "RoCBert", "Siglip", "Speech2Text", "Tapas", "XLM",
    )
)  # fmt: skip
# The class of a folder that does not name one, by a type of model that is no family here: see `class_of_model`.
OF_OTHERS = {
    **dict.fromkeys(("convbert", "mobilebert"), BERT[0]),
    "longformer": ROBERTA[1],
    "mt5": T5,
    "led": ROBERTA[2],
    # Not built from their files: other classes would read them, and give other ids.
    **{
        kind: f"{name}Tokenizer"
        for kind, name in {
            "big_bird": "BigBird", "fnet": "FNet", "funnel": "Funnel", "herbert": "Herbert", "pegasus": "Pegasus",
            "reformer": "Reformer", "rembert": "RemBert", "roformer": "RoFormer", "splinter": "Splinter",
            "xlnet": "XLNet",
        }.items()
    },
}  # fmt: skip
NORMALIZER = {
    "do_lower_case": "lowercase",
    "strip_accents": "strip_accents",
    "tokenize_chinese_chars": "handle_chinese_chars",
}
DEFAULTS = {"do_lower_case": True, "strip_accents": None, "tokenize_chinese_chars": True}  # of BERT's class
# The components that classes build themselves: normalizer, pre-tokenizer and post-processor. None if they take any.
COMPONENTS = {
    **dict.fromkeys((*BERT, MPNET), (*BERTS, AROUND)),
    **dict.fromkeys(ROBERTA, ((), ("ByteLevel",), AROUND)),
    GPT2: ((), None, None),
    GPT1: (*BERTS, None),
    **dict.fromkeys((XLM_ROBERTA, CAMEMBERT), (*SENTENCEPIECE, AROUND)),
    T5: (*SENTENCEPIECE, None),
}


def class_of_model(kind: str) -> str | None:
    """Return the tokenizer's class of a folder that does not name one, by its model's type; None if it is unknown."""
    if not kind or kind in OF_OTHERS:
        return OF_OTHERS.get(kind)
    from keras_transformers.families import FAMILIES  # a tokenizer without a model does without them

    return FAMILIES[kind].tokenizer_class or None if kind in FAMILIES else None


def follow(
    library: tokenizers.Tokenizer, name: str | None, options: Mapping[str, Any], source: Any, has_json: bool = True
) -> None:
    """Change a pipeline as its class in `transformers` does when it reads the folder.

    A class such as BERT's builds its normalizer and its special tokens from tokenizer_config.json, whatever
    tokenizer.json says; the generic class takes tokenizer.json as it is.

    Args:
        library: The pipeline of tokenizer.json, with all added tokens. It is changed in place.
        name: Name of the class, without "Fast"; None if it is unknown.
        options: The values of tokenizer_config.json, with the special tokens by role.
        source: Path of that file, for warnings.
        has_json: Whether the pipeline comes from a tokenizer.json, or else from vocabulary files, which do not define
            the special tokens around texts.

    Warns:
        UserWarning: An option contradicts tokenizer.json, and tokenizer.json is used.
    """
    if options.get("split_special_tokens"):
        warnings.warn(
            f"{source}: split_special_tokens is not followed: a special token that is typed in a text is one here.",
            stacklevel=2,
        )
    if name in COMPONENTS:
        check_components(library, name, COMPONENTS[name], source)
    normalizer, splitter = _state(library.normalizer), _state(library.pre_tokenizer)
    if type(library.model) is models.WordPiece and normalizer["type"] == "BertNormalizer":
        _follow_normalizer(library, normalizer, name in (*BERT, MPNET), options, source)
        _follow_unknown(library, name, options, source)
    if splitter["type"] == "ByteLevel":
        _follow_prefix_space(library, splitter, name in (GPT2, *ROBERTA), options, source)
    if name in (*BERT, *ROBERTA):
        _follow_ends(library, name, options)
    if name in MBART:
        _follow_language(library, name, options, source)
    end = content(options.get("eos_token"))
    if name == T5 and end not in (None, "</s>"):
        pair: list[tuple[Piece, int]] = [(A, 0), (end, 0), (B, 0), (end, 0)]
        _set_template(library, make_template([A, end], pair, _ids_of(library, [end])))
    if name == LLAMA:
        _check_prefix_space(library, options, source)
    if name in BEGINNING and {"add_bos_token", "add_eos_token"} & options.keys():
        _follow_beginning(library, name, options, source, has_json)


def content(token: Any) -> str | None:
    """Return the text of a special token: a str, or an object with its `content`."""
    token = token.get("content") if isinstance(token, dict) else token
    return token if isinstance(token, str) else None


def _follow_unknown(library: tokenizers.Tokenizer, name: str | None, options: Mapping[str, Any], source: Any) -> None:
    unknown = content(options.get("unk_token"))
    if name not in BERT or unknown in (None, library.model.unk_token):
        return
    if library.model.token_to_id(unknown) is None:
        raise ValueError(
            f"{source}: the vocabulary has no unk_token {shown(unknown)}, so that other words would have no id. "
            f"Expected one of its tokens, such as {shown(library.model.unk_token)}."
        )
    library.model.unk_token = unknown


def _follow_normalizer(
    library: tokenizers.Tokenizer, state: dict[str, Any], is_bert: bool, options: Mapping[str, Any], source: Any
) -> None:
    given = {key: options[key] for key in NORMALIZER if options.get(key) is not None}
    if "strip_accents" in options:
        given["strip_accents"] = options["strip_accents"]  # null is a value here: the same as `do_lower_case`
    if is_bert and any(state[NORMALIZER[key]] != value for key, value in given.items()):
        values = {**state, **{NORMALIZER[key]: value for key, value in given.items()}}
        del values["type"]
        library.normalizer = normalizers.BertNormalizer(**values)
    expected = {key: value for key, value in DEFAULTS.items() if key not in given} if is_bert else given
    _warn_of_others(source, {key: (value, state[NORMALIZER[key]]) for key, value in expected.items()})


def _follow_prefix_space(
    library: tokenizers.Tokenizer, state: dict[str, Any], is_obeyed: bool, options: Mapping[str, Any], source: Any
) -> None:
    given = options.get("add_prefix_space")
    if is_obeyed and given not in (None, state["add_prefix_space"]):
        values = {**state, "add_prefix_space": given}
        del values["type"]
        library.pre_tokenizer = pre_tokenizers.ByteLevel(**values)
    else:
        expected = False if is_obeyed and given is None else given
        _warn_of_others(source, {"add_prefix_space": (expected, state["add_prefix_space"])})


def _warn_of_others(source: Any, values: dict[str, tuple[Any, Any]]) -> None:
    """Warn of options whose value, given or by default, differs from the pipeline's."""
    differing = {key: both for key, both in values.items() if both[0] is not None and both[0] != both[1]}
    if differing:
        shown_ones = ", ".join(f"{key}={json.dumps(theirs)}" for key, (theirs, _) in differing.items())
        ours = ", ".join(json.dumps(ours) for _, ours in differing.values())
        warnings.warn(
            f"{source} means {shown_ones}, tokenizer.json {ours}: tokenizer.json is used here. Write the values of "
            "tokenizer.json into tokenizer_config.json, or the others into tokenizer.json.",
            stacklevel=2,
        )


def _ids_of(library: tokenizers.Tokenizer, tokens: Iterable[str]) -> dict[str, int]:
    """Return the ids of those tokens that the vocabulary has."""
    ids = {token: library.token_to_id(token) for token in tokens}
    return {token: number for token, number in ids.items() if number is not None}


def _follow_ends(library: tokenizers.Tokenizer, name: str, options: Mapping[str, Any]) -> None:
    """Put `cls_token` and `sep_token` around texts."""
    given = [content(options.get(role)) for role in ("cls_token", "sep_token")]
    if given == [None, None]:
        return
    defaults = ("[CLS]", "[SEP]") if name in BERT else ("<s>", "</s>")
    start, end = ((token or other) for token, other in zip(given, defaults, strict=True))
    pairs = list(_ids_of(library, [start, end]).items())
    if len(pairs) < len({start, end}):
        return
    pairs = [pairs[0], pairs[-1]]
    if name in BERT:
        _set_template(library, bert_template(*pairs))
    elif (old := _state(library.post_processor))["type"] == "RobertaProcessing":
        flags = {key: old[key] for key in ("trim_offsets", "add_prefix_space")}
        _set_template(library, processors.RobertaProcessing(pairs[1], pairs[0], **flags))


def _follow_language(library: tokenizers.Tokenizer, name: str, options: Mapping[str, Any], source: Any) -> None:
    """Put the language token of the source where mBART's classes put it: after a text, or before it (mBART-50)."""
    requested = options.get("src_lang")
    language, end = requested or "en_XX", "</s>"
    ids = _ids_of(library, [end, language])
    if len(ids) < len({end, language}):
        raise ValueError(
            f"{source}: src_lang={shown(requested)}, but the vocabulary has no {shown(language)}. Expected one of its "
            "language tokens, such as en_XX."
        )
    before, behind = ([], [end, language]) if name == MBART[0] else ([language], [end])
    pair = [(piece, 0) for piece in (*before, A, B, *behind)]
    template = make_template([*before, A, *behind], pair, ids)
    if requested:
        _set_template(library, template)
    elif _pieces(library.post_processor) != _pieces(template):
        _warn_of_others(source, {"src_lang": (language, "another language")})


def _check_prefix_space(library: tokenizers.Tokenizer, options: Mapping[str, Any], source: Any) -> None:
    steps = [*parts(_state(library.normalizer)), *parts(_state(library.pre_tokenizer))]
    has_prefix = any(step["type"] == "Prepend" or step.get("prepend_scheme", "never") != "never" for step in steps)
    _warn_of_others(source, {"add_prefix_space": (options.get("add_prefix_space"), has_prefix)})


def _follow_beginning(
    library: tokenizers.Tokenizer, name: str, options: Mapping[str, Any], source: Any, has_json: bool
) -> None:
    """Put `bos_token` and `eos_token` around texts if `add_bos_token` and `add_eos_token` are set, and no others."""
    if has_json:  # which `transformers` uses, too
        present = zip(("add_bos_token", "add_eos_token"), tokens_around(_state(library.post_processor)), strict=True)
        _warn_of_others(source, {role: (options.get(role), bool(ids)) for role, ids in present})
        return

    around: list[list[str]] = []
    for role, default in zip(("bos_token", "eos_token"), BEGINNING[name], strict=True):
        token = content(options.get(role)) or default
        is_added = options.get(f"add_{role}") and token and library.token_to_id(token) is not None
        around.append([token] if token and is_added else [])
    before, behind = around
    single: list[Piece] = [*before, A, *behind]
    pair = [(piece, 0) for piece in single] + [(piece, 1) for piece in (*before, B, *behind)]
    _set_template(library, make_template(single, pair, _ids_of(library, before + behind)))


def _set_template(library: tokenizers.Tokenizer, template: processors.PostProcessor) -> None:
    """Set the template of special tokens; keep the component that trims offsets."""
    if _pieces(library.post_processor) == _pieces(template):
        return
    kept = [part for part in parts(_state(library.post_processor)) if part["type"] == "ByteLevel"]
    if kept and type(template) is processors.TemplateProcessing:
        template = processors.Sequence([component(processors.ByteLevel(), kept[0]), template])
    library.post_processor = template


def _pieces(processor: processors.PostProcessor | None) -> list[dict[str, Any]]:
    return [part for part in parts(_state(processor)) if part["type"] not in (None, "ByteLevel")]


def _state(part: Any) -> dict[str, Any]:
    """Return the configuration of a component as tokenizer.json has it."""
    return {"type": None} if part is None else json.loads(part.__getstate__())
