/* The semaphore. Three tasks want N0, N1 and N2 of TOT permits, take them in their order, and give them back.
   One of them, CM, may be cancelled at any moment, also when it has been granted and has not run yet.

   here              in C++
   fast path         semaphore::try_acquire(), try_release(): one step on the word
   join              semaphore::join() under the list's lock, one step: sets `waiting`, and takes the permits
                     that there are as a part
   serve()           semaphore::serve() and settle() under the lock; the wakes come after it, one by one
   waits, wakes      a node's state, and the wake of its task; a wake that comes too early has no effect
   cancel            wait_leaf::try_cancel(): give_up() with leave() or pass_on()
   stranger          an arriving caller that tries to take one permit

   The word is {permits, waiting}, as there. Work under the list's lock is one step, since no other thread
   changes the word while `waiting` is set (S2). The model of the orders is tests/model/semaphore_model.cpp.
   Liveness, under weak fairness: a waiter that is not cancelled gets its permits.

   runs: holds -DTOT=2 -DN0=1 -DN1=2 -DN2=1 -DCM=3
         holds -DTOT=2 -DN0=1 -DN1=2 -DN2=1 -DCM=1
         holds -DTOT=2 -DN0=2 -DN1=2 -DN2=1 -DCM=0
         holds -DTOT=3 -DN0=2 -DN1=3 -DN2=2 -DCM=1
         holds -DTOT=3 -DN0=2 -DN1=3 -DN2=2 -DCM=1 -DSTRANGER
         holds always -DTOT=2 -DN0=1 -DN1=2 -DN2=1 -DCM=1
         holds always -DTOT=3 -DN0=2 -DN1=3 -DN2=2 -DCM=0
         fails -DTOT=2 -DN0=1 -DN1=2 -DN2=1 -DCM=1 -DNO_REGRANT       permits that a cancelled waiter gives back serve no waiter
         fails -DTOT=2 -DN0=1 -DN1=2 -DN2=1 -DCM=1 -DLOST_GRANT       a granted waiter that is cancelled keeps its permits
         fails -DTOT=2 -DN0=1 -DN1=2 -DN2=1 -DCM=1 -DLOST_PART        a waiter with a part that is cancelled keeps the part
         fails -DTOT=2 -DN0=1 -DN1=2 -DN2=1 -DCM=3 -DLATE_BIT         the joiner sets `waiting`, and links itself a step later
         fails -DTOT=2 -DN0=1 -DN1=2 -DN2=1 -DCM=3 -DNO_LOOK          the joiner does not check the word again
         fails -DTOT=3 -DN0=2 -DN1=3 -DN2=2 -DCM=3 -DSTRANGER -DBARGE permits stay in the word beside waiters, and a stranger takes them
         fails -DTOT=2 -DN0=1 -DN1=2 -DN2=1 -DCM=3 -DNO_WAKE          a waiter that gets its last part is not woken
         fails always -DTOT=2 -DN0=1 -DN1=2 -DN2=1 -DCM=1 -DNO_REGRANT   and so a task waits for ever */
#define NT 3
#define IDLE 0
#define WAITS 1
#define GRANTED 2

byte permits = TOT, want[NT], part[NT], state[NT], order[NT + 1], length, held;
bool waiting, woken[NT], waits_long[NT], over[NT];

/* under the lock */
inline unlink(w) {
  at = 0;
  do :: order[at] != w -> at++ :: else -> break od;
  do :: at + 1 < length -> order[at] = order[at + 1]; at++ :: else -> break od;
  length--;
  order[length] = 0; at = 0
}

inline serve(n) {
  give = n;
  do
  :: length > 0 ->
     first = order[0];
     if :: give < want[first] - part[first] -> part[first] = part[first] + give; give = 0; break
        :: else ->
           give = give - (want[first] - part[first]); part[first] = want[first];
           unlink(first);
           state[first] = GRANTED; to_wake = to_wake | (1 << first)
     fi
  :: else -> break
  od;
  if :: length == 0 -> waiting = false :: else fi;
  permits = permits + give;
  first = 0; give = 0
}

inline wake() {
  w = 0;
  do :: w < NT -> if :: to_wake & (1 << w) -> woken[w] = true :: else fi; w++
     :: else -> break od;
  to_wake = 0; w = 0
}

inline release(n) {
  if :: atomic { !waiting -> permits = permits + n }
     :: atomic { waiting -> serve(n) };
#ifndef NO_WAKE
        wake()
#endif
  fi
}

proctype waiter(byte me) {
  byte at, first, give, w, to_wake, back;
  if :: atomic { !waiting && permits >= want[me] -> permits = permits - want[me] }; goto has
     :: atomic { waiting || permits < want[me] -> skip }
  fi;
#ifdef NO_LOOK
  atomic { part[me] = 0; waiting = true; order[length] = me; length++; state[me] = WAITS; waits_long[me] = true };
#else
#ifdef BARGE
  atomic { if :: !waiting && permits >= want[me] -> permits = permits - want[me]; goto has
              :: else -> part[me] = 0; waiting = true;
                 order[length] = me; length++; state[me] = WAITS; waits_long[me] = true fi };
#else
#ifdef LATE_BIT
  atomic { if :: !waiting && permits >= want[me] -> permits = permits - want[me]; goto has
              :: else -> part[me] = permits; permits = 0; waiting = true fi };
  atomic { order[length] = me; length++; state[me] = WAITS; waits_long[me] = true };
#else
  atomic { if :: !waiting && permits >= want[me] -> permits = permits - want[me]; goto has
              :: else -> part[me] = permits; permits = 0; waiting = true;
                 order[length] = me; length++; state[me] = WAITS; waits_long[me] = true fi };
#endif
#endif
#endif
  if :: woken[me] && state[me] == GRANTED -> waits_long[me] = false
     :: me == CM -> waits_long[me] = false; goto cancelled
  fi;
has:
  atomic { held = held + want[me]; assert(held <= TOT) };
  atomic { held = held - want[me] };
  release(want[me]);
  goto done;
cancelled:
  atomic {
    back = 0;
    if :: state[me] == WAITS -> unlink(me);
#ifndef LOST_PART
          back = part[me]
#endif
       :: else ->
#ifndef LOST_GRANT
          back = want[me]
#else
          skip
#endif
    fi;
    state[me] = IDLE;
#ifdef NO_REGRANT
    permits = permits + back; if :: length == 0 -> waiting = false :: else fi
#else
    serve(back)
#endif
  };
  wake();
done:
  over[me] = true
}

#ifdef STRANGER
active proctype stranger() {
  byte at, first, give, w, to_wake;
#ifdef BARGE
  if :: atomic { permits >= 1 -> permits--; assert(!waiting) }
#else
  if :: atomic { !waiting && permits >= 1 -> permits--; assert(length == 0) }
#endif
        ;
        atomic { held++; assert(held <= TOT) };
        atomic { held-- };
        release(1)
     :: skip
  fi
}
#endif

active proctype at_the_end() {
  timeout;
  assert(over[0] && over[1] && over[2]);
  assert(permits == TOT && !waiting && length == 0 && held == 0)
}

ltl who_waits_is_served { [] (waits_long[2] -> <> !waits_long[2]) }

init {
  atomic { want[0] = N0; want[1] = N1; want[2] = N2; run waiter(0); run waiter(1); run waiter(2) }
}
