"""What the controller decides, against what real controllers (4.3.1) wrote into their metadata logs."""

from checkers.model.kafka.partition_change import ElectionRules, PartitionState, change, preferred

ELR = ElectionRules(elr=True, unclean=False, min_isr=2)
NO_ELR = ElectionRules(elr=False, unclean=False, min_isr=2)
NEW = PartitionState(partition=0, replicas=(1, 2, 3), isr=(1, 2, 3), leader=1)


def without(state, node, rules, alive, *, unclean=False):
    """The state after a broker was fenced, or has shut down uncleanly."""
    isr = [one for one in state.isr if one != node]
    lost = (node,) if unclean else ()
    return change(state, isr, rules, lambda one: one != node and one in alive, lost)


def shown(state):
    return state.leader, state.leader_epoch, state.partition_epoch, state.isr, state.elr, state.last_known_elr


def test_the_power_loss_of_all_brokers_with_elr():
    state = without(NEW, 2, ELR, {1, 3}).state
    assert shown(state) == (1, 0, 1, (1, 3), (), ())
    state = without(state, 1, ELR, {3}).state
    assert shown(state) == (3, 1, 2, (3,), (1,), ())
    state = without(state, 3, ELR, set()).state
    assert shown(state) == (-1, 2, 3, (), (1, 3), (3,))
    state = without(state, 1, ELR, set(), unclean=True).state
    assert shown(state) == (-1, 2, 4, (), (3,), (3,))
    state = without(state, 3, ELR, set(), unclean=True).state
    assert shown(state) == (-1, 2, 5, (), (), (3,))
    elected = change(state, (), ELR, lambda one: one == 3)
    assert elected.election == "last-known-elr"
    assert shown(elected.state) == (3, 3, 6, (3,), (), ())
    assert elected.state.recovering
    grown = change(elected.state, (1, 3), ELR, lambda one: True, recovered=True).state
    assert shown(grown) == (3, 3, 7, (1, 3), (), ())
    assert not grown.recovering


def test_the_last_known_leader_is_elected_in_the_append_that_takes_the_last_one_out_of_the_elr():
    state = PartitionState(
        partition=0,
        replicas=(1, 2, 3),
        isr=(),
        leader=-1,
        leader_epoch=2,
        partition_epoch=4,
        elr=(3,),
        last_known_elr=(1,),
    )
    found = without(state, 3, ELR, {1}, unclean=True)
    assert found.election == "last-known-elr"
    assert shown(found.state) == (1, 3, 5, (1,), (), ())
    assert found.state.recovering


def test_the_isr_keeps_its_last_member_without_elr():
    state = without(
        without(without(NEW, 2, NO_ELR, {1, 3}).state, 1, NO_ELR, {3}).state, 3, NO_ELR, set()
    ).state
    assert shown(state) == (-1, 2, 3, (3,), (), ())
    assert change(state, state.isr, NO_ELR, lambda one: one in {1, 2}) is None
    back = change(state, state.isr, NO_ELR, lambda one: one == 3)
    assert back.election == "isr"
    assert shown(back.state) == (3, 3, 4, (3,), (), ())


def test_an_eligible_replica_is_elected_when_nobody_is_in_sync():
    state = without(without(NEW, 2, ELR, {1, 3}).state, 3, ELR, {1}).state
    assert shown(state) == (1, 0, 2, (1,), (3,), ())
    found = without(state, 1, ELR, {3})
    assert found.election == "elr"
    assert shown(found.state) == (3, 1, 3, (3,), (1,), ())


def test_the_order_of_the_replicas_decides_between_those_in_sync():
    state = PartitionState(partition=0, replicas=(3, 1, 2), isr=(2, 1, 3), leader=3)
    assert without(state, 3, ELR, {1, 2}).state.leader == 1


def test_an_unclean_election_takes_the_first_replica_that_is_there():
    rules = ElectionRules(elr=False, unclean=True, min_isr=1)
    state = PartitionState(partition=0, replicas=(1, 2, 3), isr=(1,), leader=1)
    found = without(state, 1, rules, {2, 3})
    assert found.election == "unclean"
    assert shown(found.state) == (2, 1, 1, (2,), (), ())
    assert found.state.recovering


def test_a_smaller_isr_does_not_raise_the_leader_epoch():
    state = change(NEW, (1, 2), ELR, lambda one: True).state
    assert shown(state) == (1, 0, 1, (1, 2), (), ())


def test_nothing_changes_for_a_broker_that_is_neither_in_sync_nor_eligible():
    state = PartitionState(partition=0, replicas=(1, 2, 3), isr=(1, 2), leader=1, partition_epoch=1)
    assert without(state, 3, ELR, {1, 2}) is None


def anybody(node):
    return True


def placed(state):
    return state.replicas, state.isr, state.leader, state.leader_epoch, state.adding, state.removing


def test_fewer_replicas_are_there_at_once_under_a_new_leader_epoch():
    state = change(NEW, NEW.isr, ELR, anybody, to=(1, 2)).state
    assert placed(state) == ((1, 2), (1, 2), 1, 1, (), ())


def test_a_leader_that_is_no_replica_any_more_is_replaced_by_one_in_sync():
    found = change(NEW, NEW.isr, ELR, anybody, to=(2, 3))
    assert (placed(found.state), found.election) == (((2, 3), (2, 3), 2, 1, (), ()), "isr")


def test_a_new_replica_must_be_in_sync_before_the_old_one_goes():
    before = PartitionState(partition=0, replicas=(1, 2), isr=(1, 2), leader=1)
    moving = change(before, before.isr, ELR, anybody, to=(2, 3)).state
    assert placed(moving) == ((2, 3, 1), (1, 2), 1, 0, (3,), (1,))
    done = change(moving, (1, 2, 3), ELR, anybody).state
    assert placed(done) == ((2, 3), (2, 3), 2, 1, (), ())


def test_a_move_that_is_taken_back_ends_where_it_began():
    before = PartitionState(partition=0, replicas=(1, 2), isr=(1, 2), leader=1)
    moving = change(before, before.isr, ELR, anybody, to=(1, 2, 3)).state
    assert placed(moving) == ((1, 2, 3), (1, 2), 1, 0, (3,), ())
    back = change(moving, moving.isr, ELR, anybody, to=(1, 2)).state
    assert placed(back) == ((1, 2), (1, 2), 1, 1, (), ())


def test_another_order_of_the_same_replicas_moves_no_leader():
    state = change(NEW, NEW.isr, ELR, anybody, to=(2, 3, 1)).state
    assert placed(state) == ((2, 3, 1), (1, 2, 3), 1, 0, (), ())
    elected = preferred(state, anybody)
    assert (shown(elected.state)[:2], elected.election) == ((2, 1), "isr")
    assert preferred(elected.state, anybody) is None
    assert preferred(state, lambda node: node != 2) is None


def test_the_elr_has_no_member_that_is_no_replica():
    state = PartitionState(partition=0, replicas=(1, 2, 3), isr=(1,), leader=1, elr=(2, 3))
    assert change(state, (1,), ELR, anybody, to=(1, 2)).state.elr == (2,)
