"""The façade: one object that finds, loads, verifies and signs the items of a project, its user and the system.

Example::

    registry = Registry("/path/to/project")
    for hit in registry.search("thread orchestrator", scope="directive").results:
        print(hit.id, hit.signature.verdict)

``rye.cli`` and ``rye.mcp`` import what they need of the rooms below from here. A name is loaded when it is first used,
so that verifying does not load the engine.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rye._files import refuse_links, write_atomically
    from rye.cluster.publish import PublishReport
    from rye.embedding.choice import Choice
    from rye.index.refresh import RefreshReport
    from rye.index.schema import TYPE_NAMES
    from rye.index.vectors import VectorReport
    from rye.items.directive_xml import Input, declared_inputs
    from rye.items.model import ItemType
    from rye.items.reader import split_name
    from rye.items.scope import parse_scope
    from rye.keyring.bundles import BundleSigners, find_bundle, read_signers_of, trust_bundle
    from rye.keyring.changes import TrustChange, change_all
    from rye.keyring.key_files import DEFAULT_KEY, PASSPHRASE_VARIABLE, read_key_file, write_secret
    from rye.keyring.lists import ListSigned, find_root, sign_list
    from rye.keyring.private import KeyFacts, Keyring, Passphrase, Rotated
    from rye.keyring.sign_items import SignReport, sign_bundle
    from rye.keyring.trust_list import TrustedKey, TrustReport
    from rye.registry.live import Changed, Live
    from rye.registry.load import CopiedItem, copy_item
    from rye.registry.new_files import NewFiles, import_files, new_item
    from rye.registry.registry import Registry
    from rye.registry.relations import MAX_RELATIONS, RelatedItem, Relation, Relations
    from rye.registry.reports import LoadedItem, SpaceStatus
    from rye.registry.setup import Setup, SetupReport
    from rye.registry.skills import SKILL_SCHEME, FoundSkill, ServedSkill, may_be_skill, skill_uri
    from rye.registry.stats import SpaceStats, Stats
    from rye.registry.watch import Watch
    from rye.registry.well_known import SkillsExport, export_skills
    from rye.search.clauses import Clause
    from rye.search.explain import Contrast, Neighbour, QueryReading, SimilarityReport, Why, contrast
    from rye.search.facets import Facet
    from rye.search.fields import KEYWORD_FIELDS, TEXT_FIELDS
    from rye.search.results import (
        ClauseTrace,
        HybridMatch,
        Replaced,
        SearchResponse,
        SearchResult,
        SectionHit,
        SectionResponse,
    )
    from rye.search.settings import chosen_index
    from rye.spaces.discover import check_project, find_project, user_space
    from rye.spaces.layout import Layout
    from rye.spaces.lists import ListReport, forget_seen, list_folder
    from rye.spaces.model import FOLDER, Root
    from rye.spaces.walk import list_items
    from rye.trust.keys import hide_keys, refuse_key_text
    from rye.trust.line import check_audience
    from rye.trust.model import Signature, Verdict
    from rye.trust.reasons import REASONS
    from rye.trust.trust_file import last_moment
    from rye.trust.trust_store import system_clock
    from rye.verify.advice import Adviser
    from rye.verify.lists import REMEDIES
    from rye.verify.policy import (
        EVERY_SPACE,
        POLICY_REASONS,
        Demand,
        Policy,
        accept_findings,
        check_signers,
        load_policy,
    )
    from rye.verify.report import PART_OF_SKILL, Finding, Unchecked, VerifiedItem, VerifyReport, Violation
    from rye.verify.run import Verification, start_verification
    from rye.verify.stream import Progress

# fmt: off
__all__ = [
    "DEFAULT_KEY", "EVERY_SPACE", "FOLDER", "KEYWORD_FIELDS", "MAX_RELATIONS", "PART_OF_SKILL", "PASSPHRASE_VARIABLE",
    "POLICY_REASONS",
    "REASONS", "REMEDIES", "SKILL_SCHEME", "TEXT_FIELDS", "TYPE_NAMES", "Adviser", "BundleSigners", "Changed", "Choice",
    "Clause", "ClauseTrace", "Contrast", "CopiedItem", "Demand", "Facet", "Finding", "FoundSkill",
    "HybridMatch", "Input", "ItemType", "KeyFacts", "Keyring", "Layout", "ListReport", "ListSigned", "Live",
    "LoadedItem", "Neighbour", "NewFiles", "Passphrase", "Policy", "Progress", "PublishReport",
    "QueryReading", "RefreshReport", "Registry", "RelatedItem", "Relation", "Relations", "Replaced", "Root", "Rotated",
    "SearchResponse",
    "SearchResult", "SectionHit", "SectionResponse", "ServedSkill", "Setup",
    "SetupReport", "SignReport", "Signature", "SimilarityReport", "SkillsExport", "SpaceStats", "SpaceStatus",
    "Stats", "TrustChange", "TrustReport", "TrustedKey", "Unchecked", "VectorReport", "Verdict", "Verification",
    "VerifiedItem", "VerifyReport", "Violation", "Watch", "Why", "accept_findings", "change_all", "check_audience",
    "check_project",
    "check_signers", "chosen_index", "contrast", "copy_item", "declared_inputs", "export_skills",
    "find_bundle", "find_project", "find_root", "forget_seen", "hide_keys",
    "import_files", "last_moment", "list_folder", "list_items", "load_policy", "may_be_skill", "new_item",
    "parse_scope",
    "read_key_file", "read_signers_of", "refuse_key_text", "refuse_links", "sign_bundle", "sign_list", "skill_uri",
    "split_name", "start_verification", "system_clock", "trust_bundle", "user_space",
    "write_atomically",
    "write_secret",
]

_NAMES = {
    "rye.embedding.choice": "Choice",
    "rye.index.refresh": "RefreshReport",
    "rye.index.schema": "TYPE_NAMES",
    "rye.index.vectors": "VectorReport",
    "rye.cluster.publish": "PublishReport",
    "rye.items.model": "ItemType",
    "rye.items.reader": "split_name",
    "rye.items.directive_xml": "Input declared_inputs",
    "rye.items.scope": "parse_scope",
    "rye.keyring.bundles": "BundleSigners find_bundle read_signers_of trust_bundle",
    "rye.keyring.key_files": "DEFAULT_KEY PASSPHRASE_VARIABLE read_key_file write_secret",
    "rye.keyring.lists": "ListSigned find_root sign_list",
    "rye.keyring.private": "KeyFacts Keyring Passphrase Rotated",
    "rye.keyring.sign_items": "SignReport sign_bundle",
    "rye.keyring.changes": "TrustChange change_all",
    "rye.keyring.trust_list": "TrustReport TrustedKey",
    "rye.registry.live": "Changed Live",
    "rye.registry.load": "CopiedItem copy_item",
    "rye.registry.new_files": "NewFiles import_files new_item",
    "rye.registry.registry": "Registry",
    "rye.registry.relations": "MAX_RELATIONS RelatedItem Relation Relations",
    "rye.registry.reports": "LoadedItem SpaceStatus",
    "rye.registry.setup": "Setup SetupReport",
    "rye.registry.skills": "SKILL_SCHEME FoundSkill ServedSkill may_be_skill skill_uri",
    "rye.registry.stats": "SpaceStats Stats",
    "rye.registry.watch": "Watch",
    "rye.registry.well_known": "SkillsExport export_skills",
    "rye.search.clauses": "Clause",
    "rye.search.explain": "Contrast Neighbour QueryReading SimilarityReport Why contrast",
    "rye.search.facets": "Facet",
    "rye.search.fields": "KEYWORD_FIELDS TEXT_FIELDS",
    "rye.search.results": "ClauseTrace HybridMatch Replaced SearchResponse SearchResult SectionHit SectionResponse",
    "rye.search.settings": "chosen_index",
    "rye._files": "refuse_links write_atomically",
    "rye.trust.keys": "hide_keys refuse_key_text",
    "rye.trust.line": "check_audience",
    "rye.trust.model": "Signature Verdict",
    "rye.trust.reasons": "REASONS",
    "rye.trust.trust_file": "last_moment",
    "rye.trust.trust_store": "system_clock",
    "rye.spaces.discover": "check_project find_project user_space",
    "rye.spaces.model": "FOLDER Root",
    "rye.spaces.walk": "list_items",
    "rye.spaces.layout": "Layout",
    "rye.spaces.lists": "ListReport forget_seen list_folder",
    "rye.verify.advice": "Adviser",
    "rye.verify.lists": "REMEDIES",
    "rye.verify.policy": "EVERY_SPACE POLICY_REASONS Demand Policy accept_findings check_signers load_policy",
    "rye.verify.report": "PART_OF_SKILL Finding Unchecked VerifiedItem VerifyReport Violation",
    "rye.verify.run": "Verification start_verification",
    "rye.verify.stream": "Progress",
}
"""Each name by the module that has it."""
# fmt: on

_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'rye.registry' has no attribute {name!r}")
    found = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found
