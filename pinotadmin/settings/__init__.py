"""Every setting, by what it is about. What operators set comes from the environment or a file; a wrong text stops the
process with a clear message.
"""

from pinotadmin.settings.addresses import *
from pinotadmin.settings.alerts import *
from pinotadmin.settings.between_parts import *
from pinotadmin.settings.framework import *
from pinotadmin.settings.installation import *
from pinotadmin.settings.limits import *
from pinotadmin.settings.sign_on import *
from pinotadmin.settings.traces import *
