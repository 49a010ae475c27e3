//! The guarantees of a tree.

use std::sync::atomic::{AtomicUsize, Ordering};

use broker::testing::Lines;
use rstest::rstest;
use tokio::sync::mpsc;
use tracing::Level;

use super::*;

/// The behaviour of a probe, which also reports each start.
#[derive(Clone, Copy)]
enum Does {
    Panic,
    Fail,
    End,
    Finish,
    Live,
}

struct Probe;

impl Actor for Probe {
    type Msg = Does;
    type State = ();
    type Arguments = (Does, mpsc::UnboundedSender<ActorRef<Does>>);

    async fn pre_start(
        &self,
        myself: ActorRef<Does>,
        (first, started): Self::Arguments,
    ) -> Result<(), ActorProcessingErr> {
        started.send(myself.clone())?;
        myself.cast(first)?;
        Ok(())
    }

    async fn handle(
        &self,
        myself: ActorRef<Does>,
        does: Does,
        (): &mut (),
    ) -> Result<(), ActorProcessingErr> {
        match does {
            Does::Panic => panic!("it broke"),
            Does::Fail => return Err("it failed".into()),
            Does::End => return Err(Gone.into()),
            Does::Finish => myself.stop(None),
            Does::Live => {}
        }
        Ok(())
    }
}

type Started = mpsc::UnboundedReceiver<ActorRef<Does>>;

fn probe(name: &str, first: Does) -> (Child, Started) {
    let (said, started) = mpsc::unbounded_channel();
    (Child::actor(name, || Probe, (first, said)), started)
}

fn restarts(max: usize) -> Restarts {
    Restarts { max, ..Restarts::default() }
}

#[tokio::test(start_paused = true)]
async fn a_child_that_fails_is_started_again_and_its_sibling_is_not() {
    let (sick, mut sick_starts) = probe("sick", Does::Live);
    let (well, mut well_starts) = probe("well", Does::Live);
    let tree = Tree::start("t", restarts(5), vec![sick, well]).await.unwrap();
    for ends in [Does::Panic, Does::Fail] {
        sick_starts.recv().await.unwrap().cast(ends).unwrap();
    }
    sick_starts.recv().await.unwrap().kill();
    sick_starts.recv().await.unwrap();
    well_starts.recv().await.unwrap();
    assert!(well_starts.try_recv().is_err());
    tree.stop();
    assert_eq!(tree.ended().await, End::Finished);
}

#[tokio::test(start_paused = true)]
async fn a_child_that_keeps_failing_ends_the_tree_with_its_reason() {
    let began = Instant::now();
    let (sick, mut starts) = probe("sick", Does::Panic);
    let (well, mut well_starts) = probe("well", Does::Live);
    let tree = Tree::start("t", restarts(3), vec![sick, well]).await.unwrap();
    let End::GaveUp { child, why, .. } = tree.ended().await else { panic!("it went on") };
    assert_eq!((child.as_str(), why.contains("it broke")), ("sick", true), "{why}");
    assert!(began.elapsed() >= Duration::from_millis(100 + 200 + 400), "no waits");
    let mut count = 0;
    while starts.try_recv().is_ok() {
        count += 1;
    }
    assert_eq!(count, 4);
    let well = well_starts.recv().await.unwrap();
    assert_eq!(well.get_status(), ractor::ActorStatus::Stopped);
}

/// An error with a type of its own, as actors return.
#[derive(Debug, thiserror::Error)]
#[error("the queue is gone")]
struct Gone;

#[rstest]
#[case::a_panic(Does::Panic, "it broke", false)]
#[case::a_text(Does::Fail, "it failed", false)]
#[case::an_error(Does::End, "the queue is gone", true)]
#[tokio::test(start_paused = true)]
async fn what_a_child_failed_with_is_logged_when_it_is_no_mere_text(
    #[case] does: Does,
    #[case] text: &str,
    #[case] is_shown: bool,
) {
    for (level, expected) in [(Level::INFO, is_shown), (Level::DEBUG, true)] {
        let (lines, _guard) = Lines::of(level);
        let (sick, _starts) = probe("sick", does);
        let tree = Tree::start("t", restarts(1), vec![sick]).await.unwrap();
        let End::GaveUp { why, shown, .. } = tree.ended().await else { panic!("it went on") };
        assert_eq!((why.contains(text), shown.contains(text)), (true, is_shown));
        let logged = lines.text();
        assert!(logged.contains("a child failed too often"), "{logged}");
        assert_eq!(logged.contains(text), expected, "{level}: {logged}");
    }
}

#[tokio::test(start_paused = true)]
async fn old_failures_are_forgotten() {
    let (child, mut starts) = probe("c", Does::Live);
    let tree = Tree::start("t", restarts(1), vec![child]).await.unwrap();
    for _ in 0..5 {
        starts.recv().await.unwrap().cast(Does::Fail).unwrap();
        tokio::time::sleep(Duration::from_secs(301)).await;
    }
    starts.recv().await.unwrap();
    tree.stop();
    assert_eq!(tree.ended().await, End::Finished);
}

#[tokio::test]
async fn a_tree_ends_when_all_children_have_finished() {
    let (a, _keep_a) = probe("a", Does::Finish);
    let (b, mut starts) = probe("b", Does::Live);
    let (endless, _keep) = probe("endless", Does::Live);
    let children = vec![a, b, endless.in_background()];
    let tree = Tree::start("t", restarts(1), children).await.unwrap();
    starts.recv().await.unwrap().cast(Does::Finish).unwrap();
    assert_eq!(tree.ended().await, End::Finished);
    assert_eq!(tree.ended().await, End::Finished);
}

#[tokio::test]
async fn a_child_that_cannot_start_is_named_at_once() {
    let (fine, mut starts) = probe("fine", Does::Live);
    let tries = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&tries);
    let broken = Child::new("broken", move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        async { Err(SpawnErr::StartupFailed("no directory".into())) }
    });
    let error = Tree::start("t", restarts(3), vec![fine, broken]).await.unwrap_err();
    assert_eq!(error.to_string(), "broken cannot start: no directory");
    assert_eq!(tries.load(Ordering::Relaxed), 1);
    let fine = starts.recv().await.unwrap();
    let _ = fine.get_cell().wait(None).await;
}
