"""Words with other accents, widths and cases, and text of scripts without blanks between words."""

from __future__ import annotations

from pathlib import Path

import pytest

from rye.index.build.reader import Reader
from rye.search.page.highlight import Matches, Shown, matched
from tests.unit.index.segments import item, reader
from tests.unit.search.asking import evaluation, ids

ITEMS = [
    item("umlaut", body="the office in Zürich"),
    item("plain", body="the office in Zurich"),
    item("turkish", body="IĞDIR ve İstanbul, ılık"),
    item("german", body="Hauptstraße"),
    item("greek", body="ΟΔΥΣΣΕΥΣ"),
    item("polish", body="Łódź"),
    item("russian", body="ёлка"),
    item("wide", body="ＦＵＬＬ ｶﾞｲﾄﾞ"),
    item("chinese", title="数据库备份指南", body="本文说明如何备份和恢复生产数据库。"),
    item("other", body="革命根据地"),
    item("wrapped", body="网络\n配置"),
    item("japanese", body="毎日データベースをバックアップします"),
    item("thai", body="วิธีสำรองฐานข้อมูล"),
    item("lao", body="ການສຳຮອງຂໍ້ມູນ"),
    item("khmer", body="ការបម្រុងទុកទិន្នន័យ"),
    item("korean", body="데이터베이스를 백업합니다"),
    item("mixed", body="使用GPT模型训练"),
]


@pytest.fixture(scope="session")
def over(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    """Return a reader over items in several scripts."""
    folder: Path = tmp_path_factory.mktemp("scripts")
    return reader(folder, ITEMS)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("Zurich", "plain umlaut"),
        ("zürich", "plain umlaut"),
        ("Zu\u0308rich", "plain umlaut"),
        ('"Zurich"', "plain"),
        ("zür*", "umlaut"),
        ("igdir", "turkish"),
        ("ığdır", "turkish"),
        ("istanbul", "turkish"),
        ("ISTANBUL", "turkish"),
        ("ILIK", "turkish"),
        ("HAUPTSTRASSE", "german"),
        ("hauptstraße", "german"),
        ("οδυσσευς", "greek"),
        ("οδυσσεύσ", "greek"),
        ("lodz", "polish"),
        ("елка", "russian"),
        ("full", "wide"),
        ("ｆｕｌｌ", "wide"),
        ("ガイド", "wide"),
        ("ｶﾞｲﾄﾞ", "wide"),
        ("数据库", "chinese"),
        ("备份 OR 恢复", "chinese"),
        ("库", "chinese"),
        ("据", "chinese other"),
        ('"备份和恢复"', "chinese"),
        ('"和备份"', ""),
        ("备份 NEAR/3 恢复", "chinese"),
        ("title:备份", "chinese"),
        ("title:恢复", ""),
        ("数据*", "chinese"),
        ("*据库*", "chinese"),
        ("数?库", "chinese"),
        ("数*指", "chinese"),
        ("指南?", ""),
        ("-据 备份", ""),
        ("数据苦", ""),
        ("数据苦~", "chinese"),
        ("数苦~", ""),
        ("数苦~1", "chinese"),
        ("苦据库~", ""),
        ("网络配置", "wrapped"),
        ("データ", "japanese"),
        ("ข้อมูล", "thai"),
        ("สำรอง", "thai"),
        ("ข้อมูล NEAR/5 สำรอง", "thai"),
        ("ຂໍ້ມູນ", "lao"),
        ("ទិន្នន័យ", "khmer"),
        ("데이터베이스", "korean"),
        ("模型", "mixed"),
        ("gpt模*", "mixed"),
        ("gpt", "mixed"),
    ],
)
def test_a_word_is_found(over: Reader, asked: str, found: str) -> None:
    """Whatever its accents, width and case; in text without blanks wherever it stands."""
    assert ids(over, asked) == found.split()


@pytest.mark.parametrize(
    ("asked", "found", "marked"),
    [
        ("zurich", "umlaut", {"Zürich"}),
        ("数据库", "chinese", {"数据库"}),
        ("数据苦~", "chinese", {"数据库"}),
        ('"备份和恢复"', "chinese", {"备份和恢复"}),
        ("ガイド", "wide", {"ｶﾞｲﾄﾞ"}),
        ("데이터베이스", "korean", {"데이터베이스"}),
    ],
)
def test_what_matched_is_marked(over: Reader, asked: str, found: str, marked: set[str]) -> None:
    """Exactly the word, not the run of letters it stands in, unless normalization changes that."""
    number = next(number for number, one in enumerate(ITEMS) if one.id == found)
    matches = Matches(evaluation(over, asked).terms(), [number])
    seen = next(matched([Shown(ITEMS[number], number, same_bytes=True)], matches))
    assert {seen.preview[start:end] for start, end in seen.highlights["preview"]} == marked
