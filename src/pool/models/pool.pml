/* The crew's counts: NP submitters with NJ works each, a queue under its lock, at most MAX threads, of which MIN stay. Threads are
   started, sleep, time out, leave, and are refused by the system; a manager makes the crew smaller by one, and ends it when all works
   were run.

   here              in C++
   submitter         the queue under its lock (one step); then crew::attract(): one look at word_
   call()            crew::attract_slowly() with call() under the lock
   start()           crew::start_thread(): one that fails is counted back, wakes a sleeper, and tells missing()
   keeper            the pool's clock, after missing(): crew::grow(). Here only where no thread is left: nothing else may need it
   search, found     crew::serve() and search(): take() of one work; crew::found(): no longer searching, a look at the queue, attract()
   sleep             crew::sleep(): the announcement (one step), the look, rouse(); then the wait
   called            the signals that were raised, and not yet heard; the list of sleepers is a count, as one is like another
   CLOCK             the wait ends at any moment, or never: under the lock it leaves if more than MIN are there
   leave             crew::depart(): the last look
   giver             crew::hand_over(): a job for one thread, which lasts until all works were run, if there may be two threads.
                     Its keeper is the runtime's watchdog: blocking_pool::start_missing()
   manager           crew::resize(), and crew::stop() with its wake of all

   One work is like another, and what is done under a lock is one step. Sequentially consistent only: orders are
   tests/model/crew_model.cpp's. Liveness, under weak fairness: what is queued is taken.

   runs: holds -DNP=2 -DNJ=2 -DMAX=2 -DMIN=0
         holds -DNP=2 -DNJ=1 -DMAX=2 -DMIN=2 -DBOTH
         holds -DNP=2 -DNJ=1 -DMAX=2 -DMIN=1 -DCLOCK -DBOTH
         holds -DNP=2 -DNJ=1 -DMAX=2 -DMIN=0 -DCLOCK -DREFUSE=1
         holds -DNP=2 -DNJ=2 -DMAX=2 -DMIN=0 -DREFUSE=2
         holds -DNP=2 -DNJ=2 -DMAX=2 -DMIN=0 -DRESIZE
         holds always -DNP=2 -DNJ=1 -DMAX=1 -DMIN=1
         holds always -DNP=1 -DNJ=2 -DMAX=2 -DMIN=0 -DCLOCK
         holds always -DNP=1 -DNJ=2 -DMAX=2 -DMIN=0 -DREFUSE=1
         holds -DNP=2 -DNJ=1 -DMAX=2 -DMIN=0 -DHAND
         holds -DNP=2 -DNJ=1 -DMAX=2 -DMIN=1 -DHAND -DCLOCK
         holds -DNP=2 -DNJ=1 -DMAX=2 -DMIN=0 -DHAND -DREFUSE=1
         holds -DNP=2 -DNJ=1 -DMAX=1 -DMIN=0 -DHAND -DREFUSE=1
         holds always -DNP=1 -DNJ=1 -DMAX=2 -DMIN=0 -DHAND
         fails -DNP=2 -DNJ=1 -DMAX=2 -DMIN=0 -DHAND -DKEPT_LOOK       who is given a job calls nobody for what it has seen
         fails -DNP=2 -DNJ=1 -DMAX=1 -DMIN=0 -DHAND -DREFUSE=1 -DSILENT   nobody hears that the thread for such a job failed
         fails -DNP=2 -DNJ=1 -DMAX=1 -DMIN=1 -DNO_LOOK               who sleeps does not look
         fails -DNP=2 -DNJ=1 -DMAX=2 -DMIN=2 -DNO_CHAIN -DBOTH       who finds a work does not look for more
         fails -DNP=2 -DNJ=2 -DMAX=2 -DMIN=0 -DRESIZE -DNO_LAST_LOOK who leaves does not look
         fails -DNP=2 -DNJ=1 -DMAX=2 -DMIN=1 -DCLOCK -DBOTH -DLATE_COUNT   who leaves is counted out after the lock was given back
         fails -DNP=2 -DNJ=2 -DMAX=2 -DMIN=0 -DREFUSE=1 -DNO_WAKE    a start that fails wakes nobody
         fails -DNP=1 -DNJ=1 -DMAX=1 -DMIN=0 -DREFUSE=1 -DKEPT       a start that fails is not counted back
         fails -DNP=2 -DNJ=1 -DMAX=1 -DMIN=0 -DREAD_FIRST            the word is read before the work is in the queue
         fails -DNP=2 -DNJ=1 -DMAX=1 -DMIN=0 -DNO_STOP_WAKE          the end wakes nobody
         fails always -DNP=2 -DNJ=1 -DMAX=1 -DMIN=1 -DNO_LOOK        and so a work waits for ever */
#ifndef REFUSE
#define REFUSE 0
#endif
#define ALL (NP * NJ)

byte queued, ran, threads, idle, searching, called, refused, together, most = MAX;
bool missing, stopping;
byte given, handed, played;                       /* jobs: that wait for the thread that was chosen, that were taken on, that ended */
#ifdef HAND
bool asked;
#else
#define asked true
#endif

inline look() { atomic { passes = searching > 0 || (idle == 0 && (threads >= most || stopping)) } }

inline call() {
  duty = 0;
  atomic {
    if :: searching == 0 && idle > 0 -> idle--; searching++; called++
       :: searching == 0 && idle == 0 && threads < most && !stopping -> threads++; searching++; duty = 1
       :: else fi
  };
  start()
}

inline start() {
  if :: duty == 1 ->
        atomic {
          if :: stopping -> threads--; searching--; duty = 0
             :: !stopping && refused < REFUSE ->
                refused++; searching--;
#ifndef KEPT
                threads--;
#endif
                skip
             :: !stopping -> run thread(false); duty = 0
          fi
        };
        if :: duty == 1 ->
#ifndef NO_WAKE
              atomic { if :: idle > 0 -> idle--; searching++; called++ :: else fi };
#endif
              missing = true
           :: else fi
     :: else fi
}

inline attract() {
  look();
  if :: passes :: else -> call() fi
}

proctype submitter() {
  byte i, duty;
  bool passes;
  do :: i < NJ ->
        i++;
#ifdef READ_FIRST
        look(); queued++;
        if :: passes :: else -> call() fi
#else
        queued++; attract()
#endif
     :: else -> break od
}

proctype keeper() {
  byte duty;
  bool passes;
end:
  do :: missing ->
        missing = false; duty = 0;
#ifdef HAND
        if :: queued > 0 -> attract() :: else fi;
#else
        atomic { if :: threads == 0 && !stopping -> threads++; searching++; duty = 1 :: else fi };
        start()
#endif
  od
}

#ifdef HAND
proctype giver() {
  byte duty;
  atomic {
    if :: idle > 0 && !stopping -> idle--; given++; handed++
       :: idle == 0 && threads < most && !stopping -> threads++; duty = 1
       :: else fi
  };
  if :: duty == 1 ->
        atomic {
          if :: stopping -> threads--; duty = 0
             :: !stopping && refused < REFUSE -> refused++; threads--
             :: !stopping -> handed++; run thread(true); duty = 0
          fi
        };
        if :: duty == 1 ->
              atomic { if :: idle > 0 -> idle--; searching++; called++ :: else fi };
#ifndef SILENT
              missing = true
#endif
              skip
           :: else fi
     :: else fi;
  asked = true
}
#endif

proctype thread(bool own) {
  byte duty;
  bool got, passes;
  if :: own -> goto play :: else fi;
search:
  atomic { got = queued > 0; if :: got -> queued-- :: else fi };
  if :: !got -> goto sleep :: else fi;
found:
  searching--;
#ifndef NO_CHAIN
  if :: queued > 0 -> attract() :: else fi;
#endif
again:
#ifdef BOTH
  together++; (together >= 2);
#endif
  ran++;
next:
  atomic { got = queued > 0; if :: got -> queued-- :: else fi };
  if :: got -> goto again :: else -> searching++; goto search fi;
play:
  own = false;
  (ran == ALL || MAX == 1);
  played++;
  goto next;
sleep:
  atomic {
    if :: stopping || threads > most -> threads--; searching--; goto leave
       :: else -> idle++; searching-- fi
  };
#ifndef NO_LOOK
  if :: queued > 0 -> atomic { if :: called > 0 -> called--
                               :: called == 0 && given > 0 -> given--; own = true
                               :: else -> idle--; searching++ fi };
        if :: own ->
#ifndef KEPT_LOOK
                 attract();
#endif
                 goto play
           :: else -> goto search fi
     :: else fi;
#endif
wait:
  if :: atomic { called > 0 -> called-- }; goto search
     :: atomic { given > 0 -> given-- }; goto play
#ifdef CLOCK
#ifdef LATE_COUNT
     :: atomic { idle > 0 && threads > MIN -> idle-- }; threads--; assert(stopping || threads >= MIN)
#else
     :: atomic { idle > 0 && threads > MIN -> idle--; threads--; assert(threads >= MIN) }
#endif
#endif
  fi;
leave:
#ifndef NO_LAST_LOOK
  if :: queued > 0 -> attract() :: else fi;
#endif
  assert(threads <= MAX)
}

active proctype manager() {
#ifdef RESIZE
  byte duty;
  bool passes;
  atomic { most--; if :: threads > most && idle > 0 -> idle--; searching++; called++ :: else fi };
  if :: queued > 0 -> attract() :: else fi;
#endif
  (ran == ALL && asked && played == handed);
#ifdef NO_STOP_WAKE
  stopping = true
#else
  atomic { stopping = true; called = called + idle; searching = searching + idle; idle = 0 }
#endif
}

active proctype at_the_end() {
  timeout;
  assert(ran == ALL && queued == 0 && played == handed && given == 0);
  assert(threads == 0 && idle == 0 && searching == 0 && called == 0)
}

ltl what_is_queued_is_taken { [] ((queued > 0) -> <> (queued == 0)) }

init {
  byte p;
  atomic {
    run keeper();
#ifdef HAND
    run giver();
#endif
    do :: p < NP -> run submitter(); p++ :: else -> break od
  }
}
