/* The end of a runtime. NT threads (at most two) spawn a task each and NC (at most one) a closure, while main() shuts down. NW
   workers run the tasks: each ends, spawns a child and ends, or suspends, perhaps under a shield, until it is cancelled.

   here                            in C++
   outside                         core::launch(), sched::admit() on a thread without a role; ~runtime_handle()
   worker                          worker::play(), start(); then blocking_pool::play(), crew::serve()
   listed[t] = true                core::enroll_once(), before a shield_guard and before the word's suspend(); sched::enroll()
   end_task()                      harness.cpp: finish(): withdraw(), ended(), release()
   count(), close_books()          worker::count_spawned(), count_ended(), count_freed(), close_books()
   lower_alive(), lower_memory()   ledger::lower_alive(), lower_memories()
   closure                         blocking_pool: admit, submit(); crew::attract(), start_thread()
   pooled                          blocking_pool::take(), run_closure(), end(); crew::sleep(), depart(), forget(); blocking_pool::gone()
   behind                          blocking_pool::leaves_behind() in crew::stop(): a thread inside a closure is not joined
   pass_end_on()                   scheduler::pass_end_on(): of tasks in the registry, of one that enrols, of one that a worker takes
   settled[t] = true               the return of core::enroll_once(): from there on a task relies on the announcement
   has_an_effect()                 a task is cancelled, or refused: another one may see it, so all settled tasks have the announcement
   main                            runtime_core::shutdown(): announce_end(), cancel_everything(), wait_for_end(), stop_threads(); let_go()

   Sequentially consistent only. Left out: how a worker sleeps (src/sched/models/park.pml; here it waits for what its
   re-scan would find); tasks that wait for a closure, and may survive; handles of tasks.

   runs: holds -DNW=2 -DNT=2 -DNC=0
         holds -DNW=2 -DNT=1 -DNC=1
         holds always -DNW=2 -DNT=1 -DNC=0
         holds always -DNW=1 -DNT=1 -DNC=1
         fails -DNW=2 -DNT=1 -DNC=0 -DREAD_FIRST                admit() looks at the phase before it counts
         fails -DNW=2 -DNT=1 -DNC=0 -DNO_BIAS                   open books do not keep a balance from zero
         fails -DNW=2 -DNT=1 -DNC=0 -DNO_SECOND_LOOK            who enrols does not look at the phase
         fails -DNW=2 -DNT=1 -DNC=0 -DNO_ANNOUNCING             the phase is cancelling before the first task is told
         fails -DNW=2 -DNT=1 -DNC=0 -DLATE_WITHDRAW             a task leaves the registry after its end was counted
         fails -DNW=2 -DNT=1 -DNC=0 -DNO_FORCE                  shields outlast the grace
         fails -DNW=1 -DNT=1 -DNC=1 -DNO_FLAG                   submit() does not ask whether the queue was emptied for good
         fails -DNW=1 -DNT=1 -DNC=1 -DUNCOUNTED_THREAD          who is left behind does not count */
#define TASKS 4                                   /* the second half are children of the first */
#ifdef NO_BIAS
#define bias 0
#else
#define bias 20
#endif
mtype = { open, announcing, cancelling, forcing, stopping, unborn, queued, running, suspended, ended };
mtype phase = open, word[TASKS] = unborn;
bool cancelled[TASKS], shielded[TASKS], listed[TASKS], announced[TASKS], settled[TASKS];
short alive = bias * NW, memories = bias * (NW + 1) + NT + NC;  /* runtime_handles */
byte living, roles = NW, threads = NW, busy, behind, closures;
bool none, gone, pool_cancelling, pool_stopping;

#define any_queued (word[0] == queued || word[1] == queued || word[2] == queued || word[3] == queued)
#define any_listed (listed[0] || listed[1] || listed[2] || listed[3])
#define to_end(t) (cancelled[t] && !shielded[t])
#define is_told(t) (!settled[t] || !listed[t] || announced[t])
#define takes_tasks (phase == open || phase == announcing)
inline has_an_effect() { assert(is_told(0) && is_told(1) && is_told(2) && is_told(3)) }
inline lower_alive(by) { atomic { assert(!gone); alive = alive - (by); none = none || alive == 0 } }
inline lower_memory(by) { atomic { assert(!gone); memories = memories - (by); gone = memories == 0 } }
inline pass_end_on(t) {
  if :: phase == open
     :: phase == announcing -> announced[t] = true
     :: phase == cancelling -> atomic { has_an_effect(); announced[t] = true; cancelled[t] = true; if :: word[t] == suspended && !shielded[t] -> word[t] = queued :: else fi }
     :: phase == forcing -> atomic { has_an_effect(); announced[t] = true; cancelled[t] = true; shielded[t] = false; if :: word[t] == suspended -> word[t] = queued :: else fi }
     :: phase == stopping
  fi }
inline to_each() { do :: t < TASKS -> if :: listed[t] -> pass_end_on(t) :: else fi; t++ :: else -> t = 0; break od }
inline raise_shield() {                           /* one that is raised later has a limit of its own */
  if :: atomic { shielded[t] = phase != forcing } :: skip fi }
inline spawned() { atomic { assert(!gone); alive++; memories++ } }
inline look_at_phase() { atomic { assert(!gone); yes = takes_tasks; if :: yes -> living++ :: else has_an_effect() fi } }

proctype outside(byte t) { bool yes;
#ifdef READ_FIRST
  look_at_phase(); spawned();
#else
  spawned(); look_at_phase();
#endif
  if :: yes -> word[t] = queued :: else -> lower_alive(1); lower_memory(1) fi;
  lower_memory(1) }

inline count(lives, frees) {
  if :: closed && lives > 0 -> spawned()
     :: closed && lives < 0 -> lower_alive(1)
     :: closed && frees -> lower_memory(1)
     :: else -> atomic { my_alive = my_alive + lives; my_memory = my_memory + lives * (lives > 0) - frees } fi }
inline close_books() {
  closed = true; memories = memories + my_memory; lower_memory(bias);
  lower_alive(bias - my_alive); atomic { my_alive = 0; my_memory = 0 } }
inline end_task() {
#ifdef LATE_WITHDRAW
  atomic { word[t] = ended; living-- }; count(-1, 0); listed[t] = false;
#else
  listed[t] = false; atomic { word[t] = ended; living-- }; count(-1, 0);
#endif
  count(0, 1) }

proctype worker() { byte t; bool yes, closed; short my_alive, my_memory;
  do :: phase == stopping -> break
     :: !takes_tasks && !closed -> close_books()
     :: atomic { any_queued -> t = 0; do :: word[t] != queued -> t++ :: else -> break od; word[t] = running };
        pass_end_on(t);
        if :: to_end(t) -> end_task()
           :: else -> if :: t < TASKS / 2 -> count(1, 0); look_at_phase();
                            if :: yes -> word[t + TASKS / 2] = queued :: else -> count(-1, 0); count(0, 1) fi; end_task()
                         :: end_task()
                         :: skip;
                            listed[t] = true;
#ifndef NO_SECOND_LOOK
                            pass_end_on(t);
#endif
                            settled[t] = true;
                            raise_shield();
                            atomic { if :: to_end(t) -> word[t] = queued :: else -> word[t] = suspended fi }
                      fi fi; t = 0
  od;
  if :: closed :: else -> close_books() fi;
  roles--; pool_stopping; atomic { assert(!gone); threads-- } }

proctype closure() { bool yes;
  atomic { assert(!gone); memories++ }; atomic { assert(!gone); yes = takes_tasks };
  if :: yes -> atomic { assert(!gone);            /* under the pool's lock */
#ifndef NO_FLAG
          if :: pool_cancelling -> yes = false :: else fi;
#endif
          if :: yes -> closures++; if :: pool_stopping :: else -> threads++; run pooled() fi :: else has_an_effect() fi }
     :: else has_an_effect() fi;
  if :: yes :: else -> lower_memory(1) fi;
  lower_memory(1) }
proctype pooled() { bool mine, lost;
  atomic { assert(!gone); if :: closures > 0 -> closures--; busy++; mine = true :: else fi };
  if :: mine -> atomic { assert(!gone); busy--; if :: behind > 0 -> behind--; lost = true :: else fi };
                lower_memory(1)
     :: else fi;
  if :: lost -> assert(!gone);                    /* crew::forget() takes the lock */
#ifndef UNCOUNTED_THREAD
                lower_memory(1)
#endif
     :: else -> if :: pool_stopping :: skip fi;   /* it may have been idle for too long */
                atomic { assert(!gone); threads-- }
  fi }

active proctype main() { byte t;
  atomic { do :: t < NW -> run worker(); t++ :: else -> break od; t = 0;
           do :: t < NT -> run outside(t); t++ :: else -> break od; t = 0; if :: NC > 0 -> run closure() :: else fi };
#ifndef NO_ANNOUNCING
  phase = announcing; do :: t < TASKS -> if :: listed[t] -> announced[t] = true :: else fi; t++ :: else -> t = 0; break od;
#endif
#ifdef NO_FORCE
  phase = cancelling;
#else
  if :: phase = cancelling :: phase = forcing fi; /* with a grace, and without */
#endif
  to_each();
  atomic { pool_cancelling = true; t = closures; closures = 0; has_an_effect() }; do :: t > 0 -> lower_memory(1); t-- :: else -> break od;
  if :: none
     :: phase == cancelling;                      /* the grace is over */
#ifndef NO_FORCE
        phase = forcing; to_each();
#endif
        none
     :: phase == forcing; none
  fi;
  assert(living == 0 && !any_listed);
  phase = stopping; roles == 0;
  atomic { pool_stopping = true; behind = busy; threads = threads - busy;
#ifndef UNCOUNTED_THREAD
           memories = memories + busy
#endif
         };
  threads == 0;
  lower_memory(bias) }

active proctype rest() { timeout; assert(gone && closures == 0 && busy == 0 && threads == 0) }

ltl it_is_freed { <> gone }
