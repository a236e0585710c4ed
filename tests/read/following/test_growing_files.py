"""One event file that grows, shrinks, is replaced or disappears."""

import os

import pytest
from builders import event_file, scalars, session_start, version
from log_directories import append, matches_fresh_read, values, write_run

import pulseboard as pb


def test_appended_records_are_picked_up(tmp_path, catch_up):
    path = write_run(tmp_path / "exp", (0, 1.0))
    log = pb.read(tmp_path)
    append(path, (1, 2.0), (2, 3.0))
    assert catch_up(log).grown == ("exp",)
    assert values(log["exp"]) == [1.0, 2.0, 3.0]


def test_no_news_is_reported_as_no_changes(tmp_path, catch_up):
    write_run(tmp_path / "exp", (0, 1.0))
    log = pb.read(tmp_path)
    changes = catch_up(log)
    assert not changes
    assert (changes.added, changes.removed, changes.grown) == ((), (), ())


def test_a_run_object_stays_the_same_while_it_grows(tmp_path, catch_up):
    path = write_run(tmp_path / "exp", (0, 1.0))
    log = pb.read(tmp_path)
    run = log["exp"]
    append(path, (1, 2.0))
    catch_up(log)
    assert log["exp"] is run
    assert values(run) == [1.0, 2.0]


def test_a_file_that_grows_byte_by_byte_is_right_after_every_byte(tmp_path):
    events = [version(), *scalars("loss", (0, 1.0), (1, 2.0)), session_start(1), *scalars("loss", (1, 3.0))]
    data = event_file(*events)
    path = tmp_path / "events.out.tfevents.1"
    path.write_bytes(b"")
    log = pb.read(tmp_path)
    for end in range(1, len(data) + 1):
        with path.open("ab") as stream:
            stream.write(data[end - 1 : end])
        log.poll()
        if end % 7 == 0 or end == len(data):
            assert matches_fresh_read(log), f"after {end} bytes"
    assert values(log["."]) == [1.0, 3.0]
    assert log.notes() == []


def test_an_incomplete_record_is_read_once_it_is_complete(tmp_path, catch_up):
    path = write_run(tmp_path, (0, 1.0))
    data = event_file(*scalars("loss", (1, 2.0)))
    log = pb.read(tmp_path)
    for cut in (3, 10, 20, len(data) - 1):
        with path.open("r+b") as stream:
            stream.seek(0, os.SEEK_END)
            stream.write(data[:cut])
        catch_up(log)
        assert values(log["."]) == [1.0]
        (note,) = log.notes()
        assert note.level == "info"
        assert "incomplete" in note.what
        os.truncate(path, path.stat().st_size - cut)
    with path.open("ab") as stream:
        stream.write(data)
    catch_up(log)
    assert values(log["."]) == [1.0, 2.0]
    assert log.notes() == []


def test_a_truncated_file_is_read_again(tmp_path, catch_up):
    path = write_run(tmp_path, (0, 1.0), (1, 2.0), (2, 3.0))
    log = pb.read(tmp_path)
    os.truncate(path, len(event_file(version(), *scalars("loss", (0, 1.0)))))
    assert catch_up(log).grown == (".",)
    assert values(log["."]) == [1.0]
    append(path, (5, 6.0))
    catch_up(log)
    assert values(log["."]) == [1.0, 6.0]


def test_a_file_truncated_to_nothing_is_an_empty_run(tmp_path, catch_up):
    path = write_run(tmp_path, (0, 1.0))
    log = pb.read(tmp_path)
    os.truncate(path, 0)
    catch_up(log)
    assert log["."].points == 0
    assert matches_fresh_read(log)


@pytest.mark.parametrize("more", [0, 1, 3])
def test_a_file_replaced_under_the_same_name_is_read_again(tmp_path, catch_up, more):
    path = write_run(tmp_path, (0, 1.0), (1, 2.0))
    log = pb.read(tmp_path)
    other = write_run(tmp_path / "other", *((i, 10.0 + i) for i in range(1 + more)), tag="accuracy")
    os.replace(other, path)
    catch_up(log)
    assert log["."].tags() == ["accuracy"]
    assert matches_fresh_read(log)


def test_a_file_replaced_by_one_of_the_same_length_is_read_again(tmp_path, catch_up):
    path = write_run(tmp_path, (0, 1.0), (1, 2.0))
    log = pb.read(tmp_path)
    assert log["."].tags() == ["loss"]
    os.replace(write_run(tmp_path / "other", (0, 3.0), (1, 4.0), tag="gain"), path)
    catch_up(log)
    assert log["."].tags() == ["gain"]
    assert values(log["."], "gain") == [3.0, 4.0]


@pytest.mark.parametrize("points", [1, 2, 3, 9])
def test_a_file_rewritten_in_place_is_read_again(tmp_path, catch_up, points):
    path = write_run(tmp_path, (0, 1.0), (1, 2.0))
    log = pb.read(tmp_path)
    write_run(tmp_path, *((i, 10.0 + i) for i in range(points)))
    os.utime(path, (5, 5))
    catch_up(log)
    assert values(log["."]) == [10.0 + i for i in range(points)]


def test_the_points_of_a_deleted_file_are_gone(tmp_path, catch_up):
    write_run(tmp_path, (0, 1.0))
    second = write_run(tmp_path, (1, 2.0), name="events.out.tfevents.2")
    log = pb.read(tmp_path)
    assert values(log["."]) == [1.0, 2.0]
    second.unlink()
    assert catch_up(log).grown == (".",)
    assert values(log["."]) == [1.0]


def test_a_file_deleted_and_created_again_has_the_new_points(tmp_path, catch_up):
    path = write_run(tmp_path, (0, 1.0), (1, 2.0))
    log = pb.read(tmp_path)
    path.unlink()
    write_run(tmp_path, (0, 7.0))
    catch_up(log)
    assert values(log["."]) == [7.0]


def test_a_renamed_file_keeps_its_columns(tmp_path, catch_up):
    path = write_run(tmp_path, (0, 1.0))
    log = pb.read(tmp_path)
    columns = log["."].files[0].log
    path.rename(tmp_path / "events.out.tfevents.9")
    catch_up(log)
    assert log["."].files[0].log is columns
    assert matches_fresh_read(log)


def test_a_second_writer_joins_the_run(tmp_path, catch_up):
    write_run(tmp_path / "exp", (0, 1.0))
    log = pb.read(tmp_path)
    write_run(tmp_path / "exp", (1, 2.0), name="events.out.tfevents.2")
    assert catch_up(log).grown == ("exp",)
    assert values(log["exp"]) == [1.0, 2.0]


def test_which_points_of_an_unversioned_file_are_orphaned_depends_on_the_file_before_it(tmp_path, catch_up):
    first = tmp_path / "events.out.tfevents.1"
    first.write_bytes(event_file(version()))
    (tmp_path / "events.out.tfevents.2").write_bytes(event_file(*scalars("loss", (5, 1.0), (3, 2.0))))
    log = pb.read(tmp_path)
    assert values(log["."]) == [1.0, 2.0]  # the version record of the first file is in force
    first.unlink()
    catch_up(log)
    assert values(log["."]) == [2.0]
    first.write_bytes(event_file(version()))
    catch_up(log)
    assert values(log["."]) == [1.0, 2.0]
    first.write_bytes(event_file(version("brain.Event:1")))
    os.utime(first, (5, 5))
    catch_up(log)
    assert values(log["."]) == [2.0]
