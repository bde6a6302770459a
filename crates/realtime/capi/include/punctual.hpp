/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * punctual-rt for C++17: header only, based on punctual_rt.h, whose comments state which threads may call a function.
 *
 * - Handles are owned (RAII) and can be moved, not copied.
 * - Times are std::chrono: durations in nanoseconds, points of punctual::clock, which is CLOCK_MONOTONIC.
 * - Set-up functions throw punctual::error. Functions for real-time threads are noexcept and return a status.
 * - Bodies of tasks are lambdas that are stored once, when the task starts; they must be noexcept, which is checked at
 *   compile time. */

#ifndef PUNCTUAL_HPP
#define PUNCTUAL_HPP

#include <punctual/base.hpp>
#include <punctual/events.hpp>
#include <punctual/notes.hpp>
#include <punctual/passing.hpp>
#include <punctual/sync.hpp>
#include <punctual/tasks.hpp>

#endif // PUNCTUAL_HPP
