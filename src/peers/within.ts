import { RedisDown } from './redis-trouble.ts'

/**
 * What the work gives, or a RedisDown when it takes longer. An answer that has arrived while this
 * process was busy counts: it is read before the time is called up.
 */
export function within<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new RedisDown('It does not answer in time.'))
    const timer = setTimeout(() => setImmediate(late), timeoutMs)
    const end = () => clearTimeout(timer)
    work.finally(end).then(resolve, reject)
  })
}
