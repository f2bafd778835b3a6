"""The eighteen promises as checkers over journals and traffic; they share no logic with what they judge."""

from league.promises.checking import PROMISES, check
from league.promises.evidence import Evidence, Exchanged, Survival
from league.promises.findings import Finding, Report

__all__ = ["PROMISES", "Evidence", "Exchanged", "Finding", "Report", "Survival", "check"]
