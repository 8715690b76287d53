import { useEffect } from 'preact/hooks'
import { Failure } from './elements/failure.tsx'
import { Waiting } from './elements/waiting.tsx'
import { Entrance } from './layout/entrance.tsx'
import { Shell } from './layout/shell.tsx'
import { Shown } from './layout/shown.tsx'
import { followLinks } from './data/place.ts'
import { look, sessionError, signedIn } from './data/session.ts'

/** The dashboard: the pages for who is signed in, the entrance for everybody else. */
export function App() {
  useEffect(() => {
    void look()
    addEventListener('click', followLinks)
    return () => removeEventListener('click', followLinks)
  }, [])
  if (signedIn.value === null) return <Entrance />
  if (signedIn.value === undefined && sessionError.value !== undefined) {
    return (
      <main class="entrance">
        <Failure error={sessionError.value} again={() => void look()} />
      </main>
    )
  }
  // The page asks for what it shows while the session is still looked up.
  return <Shell>{signedIn.value === undefined ? <Waiting /> : <Shown />}</Shell>
}
