/**
 * Runs CPU-heavy work (rendering, converting) on so many pixels, with limited concurrency and a bounded
 * queue. Throws a ProviderFailure: `busy` when the queue is full, `no_memory` when there is no
 * memory for the pixels.
 */
export type Darkroom = <T>(pixels: number, work: () => Promise<T>) => Promise<T>
