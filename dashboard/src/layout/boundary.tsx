import type { ComponentChildren } from 'preact'
import { useEffect, useErrorBoundary } from 'preact/hooks'
import { toRefusal } from '../data/load.ts'
import { place } from '../data/place.ts'
import { Failure } from '../elements/failure.tsx'

/** What is in it; where that fails to be drawn, what failed, with the rest of the dashboard around it, until another is shown. */
export function Boundary({ children }: { children: ComponentChildren }) {
  const [error, again] = useErrorBoundary() as [unknown, () => void]
  const { path } = place.value
  useEffect(() => {
    if (error !== undefined) again()
  }, [path])
  if (error === undefined) return <>{children}</>
  return (
    <>
      <h1>This page cannot be shown</h1>
      <Failure error={toRefusal(error)} again={again} />
    </>
  )
}
