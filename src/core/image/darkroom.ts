/**
 * Runs CPU-heavy work (rendering, converting) with limited concurrency and a bounded queue.
 * Throws `overloaded` when the queue is full.
 */
export type Darkroom = <T>(work: () => Promise<T>) => Promise<T>
