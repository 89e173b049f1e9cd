/* The protocols of sleep: publish and notify, park and re-scan, the last searcher; with -DDRIVER the poller's token and the
   watchdog's check, too. NW workers; NP producers with a task each; NE events, each of which the driver turns into a task. A task
   keeps its worker for good (-DQUICK: not at all), so one that is left beside a sleeper shows when nothing moves any more.

   here                          in C++
   producer, look()              scheduler::inject(), worker::push_ring(); idle::after_injector(), after_ring()
   claim(): bit, count, unpark   idle::claim_lowest(), claim_one(); idle::counted(); parker::unpark()
   again:                        worker::tick(): maintain(), then next_running()
   find:                         worker::find_or_park(): idle::try_search(), then worker::search()
   leave:                        worker::leave_behind(): idle::leave_with_work(), worker::others_have_work()
   park:                         idle::announce_park(): the bit, then the word; worker::sees_work()
   rise()                        worker::get_up(): idle::rise(), and parker::park() if another thread had claimed it
   sleep:                        worker::sleep(): poller::try_take(), or parker::park()
   driver:                       worker::wait_in_driver(): parker::enter_driver(), driver_ops::wait(), parker::leave_driver(),
                                 poller::give_back(), get_up(), driver_ops::dispatch()
   watchdog                      watchdog::look_for_poller(); it sleeps while idle::all_parked()

   Sequentially consistent only. Left out: ring, slot and injector are one counter; the bitmap has one level; timers and the end
   of a runtime. With -DCOARSE pairs of steps are one.

   runs: holds -DNW=3 -DNP=3
         holds -DNW=4 -DNP=3 -DCOARSE
         holds -DNW=3 -DNP=1 -DNE=1 -DDRIVER
         holds -DNW=2 -DNP=1 -DNE=2 -DDRIVER -DQUICK
         holds always -DNW=2 -DNP=2 -DQUICK
         holds always -DNW=2 -DNP=1 -DNE=1 -DDRIVER -DQUICK
         fails -DNW=3 -DNP=2 -DNO_RESCAN                        a worker sleeps without a second look
         fails -DNW=3 -DNP=2 -DNO_LAST                          the last searcher goes on without a look
         fails -DNW=3 -DNP=2 -DNO_CONSUME                       who was claimed does not wait for its unpark
         fails -DNW=3 -DNP=2 -DLOOK_FIRST                       a producer looks before it publishes
         fails -DNW=3 -DNP=1 -DNE=1 -DDRIVER -DNO_WATCHDOG      nobody sees that nobody is in the driver
         fails -DNW=3 -DNP=1 -DNE=1 -DDRIVER -DKEEP_TOKEN       the poller keeps its token while it runs tasks
         fails -DNW=3 -DNP=1 -DNE=1 -DDRIVER -DNO_INTERRUPT     whoever unparks the poller does not interrupt the driver
         fails always -DNW=2 -DNP=1 -DQUICK -DBLIND             who gets up again does not search */
#ifndef NE
#define NE 0
#endif
#define TASKS (NP + NE)
#ifdef COARSE                                     /* two steps are one, for more workers */
#define pair atomic
#else
#define pair
#endif
#define me_bit (1 << me)
#define unparked 0
#define asleep 1
#define in_driver 2
#define notified 3

byte published, queued, begun, events, bits, bed[NW];
short parked, searching;
bool token, interrupt;

inline claim() {                                  /* who: 0 unless somebody is claimed */
  pair {
    atomic { do :: who < NW && !(bits & (1 << who)) -> who++ :: else -> break od;
             bits = bits & ~(1 << who); who = (who < NW -> who + 1 : 0) };
    if :: who -> atomic { searching++; parked-- };
                 atomic { sent = bed[who - 1] == in_driver; bed[who - 1] = notified; who = 0 }
       :: else fi };
#ifndef NO_INTERRUPT
  if :: sent -> atomic { interrupt = true; sent = false } :: else fi
#endif
}
inline look() { if :: atomic { searching == 0 && parked > 0 -> skip }; claim() :: else fi }
inline take() { atomic { if :: queued > 0 -> queued--; got = true :: else fi } }
inline rise(consumed) {
  pair { atomic { if :: bits & me_bit -> bits = bits & ~me_bit; mine = true :: else fi };
         if :: mine -> atomic { parked--; searching++; s = true } :: else fi };
  if :: mine -> mine = false
     :: else ->
#ifndef NO_CONSUME
        if :: consumed :: else -> atomic { bed[me] == notified -> bed[me] = unparked } fi;
#endif
        s = true
  fi }

proctype producer(byte me) { byte who; bool sent;  /* all are alike: one after the other begins */
#ifdef LOOK_FIRST
  look(); queued++
#else
  atomic { published == me -> published++; queued++ }; look()
#endif
}

proctype worker(byte me) { byte who, e; bool s, got, mine, sent;
again:
#ifdef DRIVER
  atomic { if :: !token -> token = true; got = true :: else fi };
  if :: got -> atomic { e = events; events = 0; interrupt = false; token = false; got = false } :: else fi;
  do :: e > 1 -> atomic { e--; queued++ }; look() :: else -> break od;
  if :: e -> e = 0; goto begin :: else fi;
#endif
#if defined(DRIVER) || defined(QUICK)
  take(); if :: got -> goto begin :: else fi;
#endif
find:
  atomic { if :: !s && 2 * searching < NW -> searching++; s = true :: else fi };
  take(); if :: got -> goto leave :: else fi;
park:
  pair { bits = bits | me_bit;
         atomic { parked++; if :: s -> searching--; s = false :: else fi; assert(searching >= 0) } };
#ifdef BLIND
  if :: queued > 0 -> rise(false); goto park :: else fi;
#elif !defined(NO_RESCAN)
  if :: queued > 0 -> rise(false); goto find :: else fi;
#endif
sleep:
#ifdef DRIVER
  atomic { if :: !token -> token = true; goto driver :: else fi };
#endif
  atomic { if :: bed[me] != notified -> bed[me] = asleep :: else fi };
endpark:
  atomic { bed[me] == notified -> bed[me] = unparked };
  rise(true); goto find;
driver:
  atomic { if :: bed[me] == notified -> bed[me] = unparked; got = true :: else -> bed[me] = in_driver fi };
  if :: got :: else ->
enddriver:
        atomic { events > 0 || interrupt -> e = events; events = 0; interrupt = false };
        atomic { got = bed[me] == notified; bed[me] = unparked }
  fi;
#ifndef KEEP_TOKEN
  token = false;
#endif
  rise(got); got = false;
  do :: e -> atomic { e--; queued++ }; look() :: else -> break od;
  goto find;
leave:
  if :: s -> atomic { s = false; searching--; assert(searching >= 0); mine = searching == 0 && parked > 0 };
#ifndef NO_LAST
        if :: mine -> if :: queued > 0 -> look() :: else fi :: else fi;
#endif
        mine = false
     :: else fi;
begin:
  atomic { begun++; got = false };
#ifdef QUICK
  goto again
#endif
}

#ifdef DRIVER
proctype world() { byte n; do :: n < NE -> atomic { n++; events++ } :: else -> break od }
proctype watchdog() { byte who; bool sent;
endwatch:                                         /* a look that changes nothing is no step */
  do :: atomic { !token && searching == 0 && parked > 0 && parked < NW -> skip }; claim() od }
#endif

init { byte i; atomic {
  do :: i < NW -> run worker(i); i++ :: else -> break od; i = 0;
  do :: i < NP -> run producer(i); i++ :: else -> break od;
#ifdef DRIVER
  run world();
#ifndef NO_WATCHDOG
  run watchdog()
#endif
#endif
  } }

/* Nothing moves any more: every task has begun; the other workers are parked, one of them in the driver. */
active proctype rest() { byte i, polls; timeout; d_step {
  assert(begun == TASKS && queued == 0 && events == 0 && searching == 0);
#ifdef DRIVER
  do :: i < NW -> polls = polls + (bed[i] == in_driver -> 1 : 0); i++ :: else -> break od;
  assert(polls == (parked > 0 -> 1 : 0));
#endif
  skip } }

ltl every_task_begins { <> (begun == TASKS) }
