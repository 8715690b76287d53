import { useEffect } from 'preact/hooks'
import { isAway } from '../data/connection.ts'
import { look } from '../data/session.ts'

const askedEveryMs = 2000

/** Shows that the gateway is unreachable, and asks for the session until it answers. */
export function Away() {
  const away = isAway.value
  useEffect(() => {
    if (!away) return undefined
    const timer = setInterval(() => void look(), askedEveryMs)
    return () => clearInterval(timer)
  }, [away])
  return (
    <div role="status">
      {away && (
        <p class="away">
          <span class="spinner" aria-hidden="true" />
          The gateway does not answer. This page keeps trying; what you typed is not lost.
        </p>
      )}
    </div>
  )
}
