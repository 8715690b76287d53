import { useEffect } from 'preact/hooks'
import { Failure } from './elements/failure.tsx'
import { Waiting } from './elements/waiting.tsx'
import { Away } from './layout/away.tsx'
import { Boundary } from './layout/boundary.tsx'
import { Entrance, isAtDoor } from './layout/entrance/index.tsx'
import { Shell } from './layout/shell.tsx'
import { pageAt, Shown } from './layout/shown.tsx'
import { SignInAgain } from './layout/sign-in-again.tsx'
import { followLinks, place } from './data/place.ts'
import { isOver, maybeSignedIn, look, sessionError, signedIn } from './data/session.ts'

/** The dashboard: its pages for a signed-in person, the sign-in pages for anyone else. */
export function App() {
  useEffect(() => {
    void look()
    addEventListener('click', followLinks)
    return () => removeEventListener('click', followLinks)
  }, [])
  return (
    <>
      <Away />
      <Content />
      {isOver.value && <SignInAgain />}
    </>
  )
}

function Content() {
  if (pageAt(place.value.path)?.isPublic) return <Pages />
  if (signedIn.value === null) return <Entrance />
  if (signedIn.value !== undefined) return isAtDoor() ? <Entrance /> : <Pages />
  if (sessionError.value !== undefined) {
    return (
      <main class="entrance">
        <Failure error={sessionError.value} again={() => void look()} />
      </main>
    )
  }
  // Without an earlier session in this browser, no page is loaded before sign-in.
  return isAtDoor() || !maybeSignedIn.value ? (
    <main class="entrance">
      <Waiting />
    </main>
  ) : (
    <Pages />
  )
}

function Pages() {
  return (
    <Shell>
      <Boundary>
        <Shown />
      </Boundary>
    </Shell>
  )
}
