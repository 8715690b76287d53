import { useEffect } from 'preact/hooks'
import { isAway } from '../data/connection.ts'
import { look } from '../data/session.ts'

const askedEveryMs = 2000

/** Says quietly that the gateway is out of reach, and asks until it is there again. */
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
          The gateway does not answer. It is asked again, and nothing that you typed is lost.
        </p>
      )}
    </div>
  )
}
